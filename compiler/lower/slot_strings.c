#include "compiler/lower/slot_strings.h"

#include "compiler/ir/ir_walk.h"
#include "kernels/operator/operator_strings.h"

typedef struct Strings {
    bool *of; /* by variable id */
    bool changed;
} Strings;

/* The element type of a tensor, or of the tensors in a container; DTYPE_NONE if it is not known. */
static DType known_dtype(const IrType *type) {
    while (type && ir_type_is_container(type)) type = type->element;
    return type && type->kind == IR_TYPE_TENSOR ? type->dtype : DTYPE_NONE;
}

static bool may_be(const IrVariable *variable) {
    const IrType *type = &variable->type;
    if (type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_UNKNOWN &&
        type->kind != IR_TYPE_DATA && !ir_type_is_container(type))
        return false;
    return known_dtype(type) == DTYPE_NONE;
}

static void flow(Strings *strings, const IrVariable *from, const IrVariable *to) {
    if (!from || !strings->of[from->id] || strings->of[to->id] || !may_be(to)) return;
    strings->of[to->id] = true;
    strings->changed = true;
}

static bool any_operand(const Strings *strings, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (binding->operands[i] && strings->of[binding->operands[i]->id]) return true;
    return false;
}

static bool makes_strings(const Strings *strings, const IrBinding *binding, uint32_t i) {
    switch (operator_strings(binding->operator_info, binding->attributes, i)) {
    case OPERATOR_STRINGS_NEVER:
        return false;
    case OPERATOR_STRINGS_ALWAYS:
        return true;
    case OPERATOR_STRINGS_AS_INPUTS:
        return any_operand(strings, binding);
    case OPERATOR_STRINGS_AS_INPUT_1:
        return strings->of[binding->operands[1]->id];
    }
    return false;
}

static void through_operator(Strings *strings, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        const IrVariable *result = binding->results[i];
        if (strings->of[result->id] || !may_be(result) || !makes_strings(strings, binding, i))
            continue;
        strings->of[result->id] = true;
        strings->changed = true;
    }
}

static void through_call(Strings *strings, const IrBinding *binding) {
    const IrBlock *callee = binding->function->body;
    for (uint32_t i = 0; i < binding->operand_count; i++)
        flow(strings, binding->operands[i], callee->parameters[i]);
    for (uint32_t i = 0; i < binding->result_count; i++)
        flow(strings, callee->results[i], binding->results[i]);
}

static void through_binding(Strings *strings, const IrBinding *binding) {
    if (binding->kind == IR_OPERATOR) {
        through_operator(strings, binding);
    } else if (binding->kind == IR_CALL) {
        through_call(strings, binding);
    } else if (binding->kind == IR_IF) {
        for (uint32_t b = 0; b < binding->block_count; b++)
            for (uint32_t i = 0; i < binding->result_count; i++)
                flow(strings, binding->blocks[b]->results[i], binding->results[i]);
    } else if (binding->kind != IR_SHAPE_OF && binding->result_count == 1) {
        for (uint32_t i = 0; i < binding->operand_count; i++)
            flow(strings, binding->operands[i], binding->results[0]);
    }
}

static void start(Strings *strings, const IrVariable *variable) {
    if (known_dtype(&variable->type) == DTYPE_STRING) strings->of[variable->id] = true;
}

static void start_function(Strings *strings, const IrFunction *function) {
    const IrBlock *body = function->body;
    for (uint32_t i = 0; i < body->parameter_count; i++) start(strings, body->parameters[i]);
    for (IrBinding *binding = ir_walk_first(body); binding; binding = ir_walk_next(binding))
        for (uint32_t i = 0; i < binding->result_count; i++) start(strings, binding->results[i]);
}

void slot_strings_find(const IrModule *module, bool *out_strings) {
    Strings strings = {.of = out_strings, .changed = true};
    for (size_t i = 0; i < module->constant_count; i++) start(&strings, module->constants[i]);
    for (size_t f = 0; f < module->function_count; f++)
        start_function(&strings, module->functions[f]);
    while (strings.changed) {
        strings.changed = false;
        for (size_t f = 0; f < module->function_count; f++) {
            IrBinding *binding = ir_walk_first(module->functions[f]->body);
            for (; binding; binding = ir_walk_next(binding)) through_binding(&strings, binding);
        }
    }
}
