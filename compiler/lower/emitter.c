#include "compiler/lower/emitter.h"

Error *emit_add_operand(Emitter *emitter, uint64_t operand) {
    if (emitter->operand_count >= INSTRUCTION_OPERANDS_MAX)
        FAIL(EXHAUSTED, "an instruction with more than %d operands", INSTRUCTION_OPERANDS_MAX);
    emitter->operands[emitter->operand_count++] = operand;
    return NULL;
}

Error *emit_add_immediate(Emitter *emitter, int64_t value) {
    return emit_add_operand(emitter, operand_make(OPERAND_IMMEDIATE, value));
}

Error *emit_use_operand(Emitter *emitter, const IrVariable *variable, uint64_t *out_operand) {
    if (!variable) {
        *out_operand = operand_make(OPERAND_ABSENT, 0);
        return NULL;
    }
    const Value *constant = variable->constant;
    if (!constant) {
        *out_operand = operand_make(OPERAND_REGISTER, emitter->registers.of[variable->id]);
        return NULL;
    }
    if (constant->tag == VALUE_INT && constant->integer <= OPERAND_VALUE_MAX &&
        constant->integer >= OPERAND_VALUE_MIN) {
        *out_operand = operand_make(OPERAND_IMMEDIATE, constant->integer);
        return NULL;
    }
    uint32_t index;
    uint8_t slot = variable->slot == 1 ? 1 : 0;
    TRY(constant_layout_add(emitter->layout, constant, slot, &index));
    *out_operand = operand_make(OPERAND_CONSTANT, index);
    return NULL;
}

Error *emit_add_use(Emitter *emitter, const IrVariable *variable) {
    uint64_t operand;
    TRY(emit_use_operand(emitter, variable, &operand));
    return emit_add_operand(emitter, operand);
}

Error *emit_add_uses(Emitter *emitter, IrVariable *const *variables, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) TRY(emit_add_use(emitter, variables[i]));
    return NULL;
}

Error *emit_instruction(Emitter *emitter, Opcode opcode, uint32_t flags, uint32_t destination) {
    uint32_t count = emitter->operand_count;
    emitter->operand_count = 0;
    return executable_builder_add_instruction(
        emitter->builder, opcode, flags, destination, emitter->operands, count);
}

Error *emit_move(Emitter *emitter, uint64_t from, uint32_t to) {
    TRY(emit_add_operand(emitter, from));
    return emit_instruction(emitter, OPCODE_MOVE, 0, to);
}
