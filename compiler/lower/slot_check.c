#include "compiler/lower/slot_check.h"

#include "compiler/ir/ir_print.h"
#include "compiler/ir/ir_walk.h"

static DType element_dtype(const IrType *type) {
    while (type && ir_type_is_container(type)) type = type->element;
    return type && type->kind == IR_TYPE_TENSOR ? type->dtype : DTYPE_NONE;
}

/* Tensors have a slot. So have containers, whose tensors all are in it; a container of unknown type
 * may be empty and fits any slot. Scalars and objects have no slot. */
static bool has_slot(const IrVariable *variable) {
    if (!variable) return false;
    if (ir_type_is_container(&variable->type)) return element_dtype(&variable->type) != DTYPE_NONE;
    return variable->type.kind == IR_TYPE_TENSOR || variable->type.kind == IR_TYPE_UNKNOWN;
}

static bool is_string(const IrType *type) { return element_dtype(type) == DTYPE_STRING; }

static Error *check_value(const IrVariable *variable, uint8_t slot, const char *what, uint32_t at) {
    if (!has_slot(variable) || variable->slot == slot) return NULL;
    FAIL(INTERNAL, "%s %u, variable %u, is in slot %u instead of %u", what, at, variable->id,
        variable->slot, slot);
}

static Error *check_known(const IrVariable *variable) {
    if (!has_slot(variable)) return NULL;
    if (variable->slot > 1)
        FAIL(INTERNAL, "variable %u is in slot %u", variable->id, variable->slot);
    if (variable->slot == 1 && is_string(&variable->type))
        FAIL(INTERNAL, "variable %u has strings and is in slot 1", variable->id);
    return NULL;
}

static Error *check_operator(const IrBinding *binding) {
    uint8_t slot = binding->flag ? 0 : 1;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        uint8_t wanted = operator_reads_value(binding->operator_info, i) ? 0 : slot;
        TRY(check_value(binding->operands[i], wanted, "operand", i));
    }
    for (uint32_t i = 0; i < binding->result_count; i++)
        TRY(check_value(binding->results[i], slot, "result", i));
    return NULL;
}

static Error *check_operands_in(const IrBinding *binding, uint32_t first, uint8_t slot) {
    for (uint32_t i = first; i < binding->operand_count; i++)
        TRY(check_value(binding->operands[i], slot, "operand", i));
    return NULL;
}

/* Readers of fields and closures cannot know the writer, so the element type alone decides the slot
 * of a value there. Values of unknown element type are not checked. */
static Error *check_fields(const IrBinding *binding, uint32_t first) {
    for (uint32_t i = first; i < binding->operand_count; i++) {
        const IrType *type = &binding->operands[i]->type;
        if (element_dtype(type) != DTYPE_NONE)
            TRY(check_value(binding->operands[i], is_string(type) ? 0 : 1, "operand", i));
    }
    return NULL;
}

static Error *check_call(const IrBinding *binding) {
    const IrBlock *callee = binding->function->body;
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (has_slot(callee->parameters[i]))
            TRY(check_value(binding->operands[i], callee->parameters[i]->slot, "operand", i));
    for (uint32_t i = 0; i < binding->result_count; i++)
        if (has_slot(callee->results[i]))
            TRY(check_value(binding->results[i], callee->results[i]->slot, "result", i));
    return NULL;
}

static Error *check_blocks(const IrBinding *binding) {
    for (uint32_t b = 0; b < binding->block_count; b++)
        for (uint32_t i = 0; i < binding->result_count; i++)
            if (has_slot(binding->results[i]))
                TRY(check_value(
                    binding->blocks[b]->results[i], binding->results[i]->slot, "block result", i));
    return NULL;
}

static Error *check_packed(const IrBinding *binding) {
    const IrVariable *result = binding->results[0];
    if (binding->integer == IR_PACKED_OPTIONAL_HAS_ELEMENT || !has_slot(result)) return NULL;
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (i == 0 || binding->operands[i]->type.kind == IR_TYPE_TENSOR)
            TRY(check_value(binding->operands[i], result->slot, "operand", i));
    return NULL;
}

static Error *check_binding(const IrBinding *binding) {
    switch (binding->kind) {
    case IR_OPERATOR:
        return check_operator(binding);
    case IR_CALL:
        return check_call(binding);
    case IR_CALL_CLOSURE:
        return check_fields(binding, 1);
    case IR_CLOSURE:
    case IR_CONSTRUCT:
        return check_fields(binding, 0);
    case IR_IF:
        TRY(check_operands_in(binding, 0, 0));
        return check_blocks(binding);
    case IR_READ_SCALAR:
        return check_operands_in(binding, 0, 0);
    case IR_MAKE_TENSOR:
    case IR_SHAPE_OF:
        return check_value(binding->results[0], 0, "result", 0);
    case IR_DEVICE_COPY:
        return check_value(binding->results[0], (uint8_t)binding->integer, "result", 0);
    case IR_LIST_CONCAT:
        if (!has_slot(binding->operands[0])) return NULL;
        return check_value(binding->results[0], binding->operands[0]->slot, "result", 0);
    case IR_LIST_NEW:
    case IR_LIST_APPEND:
    case IR_OPTIONAL:
        return check_operands_in(binding, 0, binding->results[0]->slot);
    case IR_CALL_PACKED:
        return check_packed(binding);
    case IR_GET_FIELD:
    case IR_GET_TAG:
    case IR_INT_OP:
    case IR_MATCH:
    case IR_YIELD:
    case IR_FATAL:
    case IR_KIND_COUNT:
        break;
    }
    return NULL;
}

static Error *check_function(const IrFunction *function) {
    const IrBlock *body = function->body;
    for (uint32_t i = 0; i < body->parameter_count; i++) TRY(check_known(body->parameters[i]));
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->result_count; i++) TRY(check_known(binding->results[i]));
        TRY_WRAP(check_binding(binding), "%s%s%s",
            binding->kind == IR_OPERATOR ? binding->operator_info->name
                                         : ir_kind_name(binding->kind),
            binding->name ? " at node " : "", binding->name ? binding->name : "");
    }
    return NULL;
}

Error *slot_check(const IrModule *module) {
    for (size_t f = 0; f < module->function_count; f++)
        TRY_WRAP(check_function(module->functions[f]), "function %s", module->functions[f]->name);
    return NULL;
}
