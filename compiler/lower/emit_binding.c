#include "compiler/lower/emit_binding.h"

#include <inttypes.h>

#include "compiler/ir/ir_print.h"
#include "compiler/lower/emit_moves.h"

static uint32_t register_of(const Emitter *emitter, const IrVariable *variable) {
    return emitter->registers.of[variable->id];
}

/* An operand that must be in a register. */
static Error *add_register(Emitter *emitter, const IrVariable *variable, const char *what) {
    if (variable->constant) FAIL(INVALID, "%s of a constant that is no such object", what);
    return emit_add_use(emitter, variable);
}

static Error *emit_operator(Emitter *emitter, const IrBinding *binding) {
    uint32_t primitive;
    TRY(constant_layout_add_primitive(
        emitter->layout, binding->operator_info, binding->attributes, &primitive));
    TRY(emit_add_immediate(emitter, primitive));
    TRY(emit_add_immediate(emitter, binding->result_count));
    TRY(emit_add_uses(emitter, binding->operands, binding->operand_count));
    TRY(emit_add_uses(emitter, binding->results, binding->result_count));
    uint32_t flags = INSTRUCTION_ALLOC | (binding->flag ? INSTRUCTION_HOST : 0);
    return emit_instruction(emitter, OPCODE_INVOKE_PACKED, flags, REGISTER_NONE);
}

/* A function with one result returns the result itself, any other one a tuple. */
static Error *emit_unpack(Emitter *emitter, const IrBinding *binding, Opcode opcode) {
    if (binding->result_count == 1)
        return emit_instruction(emitter, opcode, 0, register_of(emitter, binding->results[0]));
    uint32_t used = 0;
    for (uint32_t i = 0; i < binding->result_count; i++)
        used += emitter->uses[binding->results[i]->id] > 0;
    if (used == 0) return emit_instruction(emitter, opcode, INSTRUCTION_NO_DST, REGISTER_NONE);
    uint32_t tuple = emitter->registers.scratch;
    TRY(emit_instruction(emitter, opcode, 0, tuple));
    for (uint32_t i = 0; i < binding->result_count; i++) {
        if (emitter->uses[binding->results[i]->id] == 0) continue;
        TRY(emit_add_operand(emitter, operand_make(OPERAND_REGISTER, tuple)));
        TRY(emit_add_immediate(emitter, i));
        TRY(emit_instruction(
            emitter, OPCODE_GET_FIELD, 0, register_of(emitter, binding->results[i])));
    }
    return NULL;
}

/* Emits a loop's next round: sets the parameters to their new values, then jumps to the start. */
static Error *emit_self_tail_call(Emitter *emitter, const IrBinding *binding) {
    uint64_t sources[IR_OPERANDS_MAX];
    uint32_t targets[IR_OPERANDS_MAX];
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        TRY(emit_use_operand(emitter, binding->operands[i], &sources[i]));
        targets[i] = i;
    }
    TRY(emit_parallel_moves(emitter, sources, targets, binding->operand_count));
    TRY(emit_add_immediate(emitter, -(int64_t)executable_builder_pc(emitter->builder)));
    return emit_instruction(emitter, OPCODE_GOTO, 0, REGISTER_NONE);
}

static Error *emit_call(Emitter *emitter, const IrBinding *binding, bool *out_ended) {
    if (binding->flag && binding->function == emitter->function) {
        *out_ended = true;
        return emit_self_tail_call(emitter, binding);
    }
    uint32_t callee = emitter->functions[binding->function->index];
    TRY(emit_add_operand(emitter, operand_make(OPERAND_FUNCTION, callee)));
    TRY(emit_add_uses(emitter, binding->operands, binding->operand_count));
    *out_ended = binding->flag;
    if (binding->flag) return emit_instruction(emitter, OPCODE_TAIL_INVOKE, 0, REGISTER_NONE);
    return emit_unpack(emitter, binding, OPCODE_INVOKE);
}

static Error *emit_closure(Emitter *emitter, const IrBinding *binding) {
    enum { SIDE_LAST = 1 };
    uint32_t callee = emitter->functions[binding->function->index];
    TRY(emit_add_operand(emitter, operand_make(OPERAND_FUNCTION, callee)));
    TRY(emit_add_immediate(emitter, SIDE_LAST));
    TRY(emit_add_uses(emitter, binding->operands, binding->operand_count));
    return emit_instruction(
        emitter, OPCODE_ALLOC_CLOSURE, 0, register_of(emitter, binding->results[0]));
}

static Error *emit_get_field(Emitter *emitter, const IrBinding *binding) {
    TRY(add_register(emitter, binding->operands[0], "a field"));
    if (binding->operand_count == 2)
        TRY(emit_add_use(emitter, binding->operands[1]));
    else
        TRY(emit_add_immediate(emitter, binding->integer));
    return emit_instruction(
        emitter, OPCODE_GET_FIELD, 0, register_of(emitter, binding->results[0]));
}

/* Emits operands that are all uses, with immediates before or behind them. */
static Error *emit_plain(Emitter *emitter, const IrBinding *binding, Opcode opcode) {
    TRY(emit_add_uses(emitter, binding->operands, binding->operand_count));
    uint32_t destination =
        binding->result_count ? register_of(emitter, binding->results[0]) : REGISTER_NONE;
    return emit_instruction(emitter, opcode, 0, destination);
}

static Error *emit_construct(Emitter *emitter, const IrBinding *binding) {
    int64_t tag = binding->constructor ? binding->constructor->tag : 0;
    if (tag < 0) FAIL(INTERNAL, "constructor %s has no tag", binding->constructor->name);
    TRY(emit_add_immediate(emitter, tag));
    return emit_plain(emitter, binding, OPCODE_ALLOC_ADT);
}

static Error *emit_list_append(Emitter *emitter, const IrBinding *binding) {
    TRY(add_register(emitter, binding->operands[0], "an append"));
    TRY(emit_add_use(emitter, binding->operands[1]));
    return emit_instruction(
        emitter, OPCODE_LIST_APPEND, 0, register_of(emitter, binding->results[0]));
}

static Error *emit_list_concat(Emitter *emitter, const IrBinding *binding) {
    if (binding->operand_count != 1) FAIL(INTERNAL, "a list's length was not lowered");
    TRY(add_register(emitter, binding->operands[0], "a concatenation"));
    TRY(emit_add_immediate(emitter, binding->integer));
    TRY(emit_add_immediate(emitter, binding->flag));
    uint32_t flags = binding->results[0]->slot == 0 ? INSTRUCTION_HOST : 0;
    return emit_instruction(
        emitter, OPCODE_LIST_CONCAT, flags, register_of(emitter, binding->results[0]));
}

static Error *emit_optional(Emitter *emitter, const IrBinding *binding) {
    if (binding->operand_count > 0) return emit_plain(emitter, binding, OPCODE_MOVE);
    return emit_instruction(
        emitter, OPCODE_KILL_REGISTER, 0, register_of(emitter, binding->results[0]));
}

static Error *emit_call_packed(Emitter *emitter, const IrBinding *binding) {
    uint32_t callee = emitter->packed[binding->integer];
    TRY(emit_add_operand(emitter, operand_make(OPERAND_FUNCTION, callee)));
    return emit_plain(emitter, binding, OPCODE_CALL);
}

static Error *emit_with_immediate(
    Emitter *emitter, const IrBinding *binding, Opcode opcode, bool before, int64_t immediate) {
    if (before) TRY(emit_add_immediate(emitter, immediate));
    TRY(emit_add_uses(emitter, binding->operands, binding->operand_count));
    if (!before) TRY(emit_add_immediate(emitter, immediate));
    return emit_instruction(emitter, opcode, 0, register_of(emitter, binding->results[0]));
}

static Error *emit_fatal(Emitter *emitter, const IrBinding *binding, bool *out_ended) {
    uint32_t index;
    TRY(constant_layout_add_text(emitter->layout, binding->text, &index));
    TRY(emit_add_operand(emitter, operand_make(OPERAND_CONSTANT, index)));
    *out_ended = true;
    return emit_instruction(emitter, OPCODE_FATAL, 0, REGISTER_NONE);
}

Error *emit_binding(Emitter *emitter, const IrBinding *binding, bool *out_ended) {
    *out_ended = false;
    switch (binding->kind) {
    case IR_OPERATOR:
        return emit_operator(emitter, binding);
    case IR_CALL:
        return emit_call(emitter, binding, out_ended);
    case IR_CALL_CLOSURE:
        TRY(add_register(emitter, binding->operands[0], "a call"));
        TRY(emit_add_uses(emitter, binding->operands + 1, binding->operand_count - 1));
        *out_ended = binding->flag;
        if (binding->flag)
            return emit_instruction(emitter, OPCODE_TAIL_INVOKE_CLOSURE, 0, REGISTER_NONE);
        return emit_unpack(emitter, binding, OPCODE_INVOKE_CLOSURE);
    case IR_CLOSURE:
        return emit_closure(emitter, binding);
    case IR_CONSTRUCT:
        return emit_construct(emitter, binding);
    case IR_GET_FIELD:
        return emit_get_field(emitter, binding);
    case IR_GET_TAG:
        TRY(add_register(emitter, binding->operands[0], "a tag"));
        return emit_instruction(
            emitter, OPCODE_GET_TAG, 0, register_of(emitter, binding->results[0]));
    case IR_LIST_NEW:
        return emit_plain(emitter, binding, OPCODE_LIST_NEW);
    case IR_LIST_APPEND:
        return emit_list_append(emitter, binding);
    case IR_LIST_CONCAT:
        return emit_list_concat(emitter, binding);
    case IR_OPTIONAL:
        return emit_optional(emitter, binding);
    case IR_CALL_PACKED:
        return emit_call_packed(emitter, binding);
    case IR_INT_OP:
        return emit_with_immediate(emitter, binding, OPCODE_INT_OP, true, binding->integer);
    case IR_READ_SCALAR:
        return emit_plain(emitter, binding, OPCODE_READ_SCALAR);
    case IR_MAKE_TENSOR:
        return emit_with_immediate(
            emitter, binding, OPCODE_MAKE_TENSOR0, false, (int64_t)binding->dtype);
    case IR_SHAPE_OF:
        return emit_plain(emitter, binding, OPCODE_SHAPE_OF);
    case IR_DEVICE_COPY:
        return emit_with_immediate(emitter, binding, OPCODE_DEVICE_COPY, false, binding->integer);
    case IR_YIELD:
        return emit_plain(emitter, binding, OPCODE_YIELD);
    case IR_FATAL:
        return emit_fatal(emitter, binding, out_ended);
    case IR_IF:
    case IR_MATCH:
    case IR_KIND_COUNT:
        break;
    }
    FAIL(INTERNAL, "a binding of kind %s was not lowered", ir_kind_name(binding->kind));
}
