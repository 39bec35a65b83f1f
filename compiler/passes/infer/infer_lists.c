#include "compiler/passes/infer/infer_lists.h"

/* Makes the type of a list's elements from one element. */
static Error *element_type(ProbeContext *context, const Probe *element, const IrType **out) {
    IrType type;
    TRY(probe_to_type(context, element, &type));
    void *copy;
    TRY(arena_copy(&context->module->arena, &type, 1, sizeof type, &copy));
    *out = copy;
    return NULL;
}

/* The type of a list's elements; NULL while the list is empty. */
static const IrType *items_of(const Probe *list) {
    static const IrType unknown = {.kind = IR_TYPE_UNKNOWN};
    return list->state == PROBE_KNOWN && list->kind == IR_TYPE_LIST ? list->element : &unknown;
}

Error *infer_lists_make(ProbeContext *context, const IrBinding *binding) {
    bool appends = binding->kind == IR_LIST_APPEND;
    Probe list = {.state = PROBE_KNOWN, .kind = IR_TYPE_LIST};
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *operand = probe_of(context, binding->operands[i]);
        if (operand->state == PROBE_BOTTOM) return NULL;
        const IrType *element = items_of(operand);
        if (!appends || i == 1) TRY(element_type(context, operand, &element));
        TRY(probe_join_elements(context->module, list.element, element, &list.element));
    }
    probe_set(probe_of(context, binding->results[0]), &list);
    return NULL;
}

/* Concatenates a list's elements to a tensor; the length along the axis is a symbol. */
Error *infer_lists_concat(ProbeContext *context, const IrBinding *binding) {
    const Probe *list = probe_of(context, binding->operands[0]);
    const IrVariable *result = binding->results[0];
    if (list->state == PROBE_BOTTOM) return NULL;
    IrType type = ir_type_tensor(DTYPE_NONE);
    const IrType *element = list->state == PROBE_KNOWN ? list->element : NULL;
    if (list->state == PROBE_KNOWN && !element) return NULL; /* no append was reached yet */
    if (element && element->kind == IR_TYPE_TENSOR) {
        type.dtype = element->dtype;
        uint32_t rank = element->rank + (binding->flag ? 1 : 0);
        int64_t axis = binding->integer < 0 ? binding->integer + rank : binding->integer;
        if (element->rank_known && rank <= SHAPE_RANK_MAX && axis >= 0 && axis < rank) {
            uint32_t from = 0;
            type.rank_known = true;
            type.rank = rank;
            for (uint32_t i = 0; i < rank; i++) {
                bool joined = i == (uint32_t)axis;
                type.dims[i] = joined ? IR_DIM_UNKNOWN : element->dims[from];
                if (!joined || !binding->flag) from++;
            }
        }
    }
    return probe_from_type(context, result, &type, probe_of(context, result));
}

Error *infer_lists_get_field(ProbeContext *context, const IrBinding *binding) {
    const IrVariable *object = binding->operands[0], *result = binding->results[0];
    const Probe *probe = probe_of(context, object);
    if (probe->state == PROBE_BOTTOM) return NULL;
    if (probe->kind == IR_TYPE_LIST && probe->state == PROBE_KNOWN && !probe->element) return NULL;
    const IrBinding *maker = object->binding;
    if (maker && maker->kind == IR_CONSTRUCT && binding->operand_count == 1 &&
        binding->integer >= 0 && binding->integer < maker->operand_count) {
        probe_set(probe_of(context, result), probe_of(context, maker->operands[binding->integer]));
        return NULL;
    }
    const IrType *type = &result->type;
    if (probe->kind == IR_TYPE_LIST && probe->element) type = probe->element;
    return probe_from_type(context, result, type, probe_of(context, result));
}

Error *infer_lists_optional(ProbeContext *context, const IrBinding *binding) {
    Probe optional = {.state = PROBE_KNOWN, .kind = IR_TYPE_OPTIONAL};
    if (binding->operand_count > 0) {
        const Probe *value = probe_of(context, binding->operands[0]);
        if (value->state == PROBE_BOTTOM) return NULL;
        TRY(element_type(context, value, &optional.element));
    }
    probe_set(probe_of(context, binding->results[0]), &optional);
    return NULL;
}

/* Tensors and lists always have an element; for an optional the answer is not known. */
static void infer_has_element(ProbeContext *context, const IrBinding *binding, Probe *result) {
    const Probe *value = probe_of(context, binding->operands[0]);
    bool optional = value->kind == IR_TYPE_OPTIONAL || value->kind == IR_TYPE_UNKNOWN;
    result->has_value = !optional;
    for (uint32_t w = 0; !optional && w < PROBE_WORLDS; w++) result->scalars[w] = 1;
}

/* The type of an element of a list or an optional. A plain value stands for itself, as in
 * OptionalGetElement. */
static Error *infer_element(ProbeContext *context, const IrBinding *binding) {
    const Probe *from = probe_of(context, binding->operands[0]);
    const IrVariable *result = binding->results[0];
    Probe *out = probe_of(context, result);
    IrTypeKind container =
        binding->integer == IR_PACKED_SEQUENCE_AT ? IR_TYPE_LIST : IR_TYPE_OPTIONAL;
    if (from->state == PROBE_KNOWN && from->kind == container && !from->element) return NULL;
    if (from->state == PROBE_KNOWN && from->kind == container)
        return probe_from_type(context, result, from->element, out);
    if (from->state == PROBE_KNOWN && container == IR_TYPE_OPTIONAL) {
        probe_set(out, from);
        return NULL;
    }
    return probe_from_type(context, result, &result->type, out);
}

Error *infer_lists_call_packed(ProbeContext *context, const IrBinding *binding) {
    const Probe *first = probe_of(context, binding->operands[0]);
    Probe result = {.state = PROBE_KNOWN};
    if (first->state == PROBE_BOTTOM) return NULL;
    switch (ir_packed_info((IrPackedCall)binding->integer)->result) {
    case IR_PACKED_RESULT_ELEMENT:
        return infer_element(context, binding);
    case IR_PACKED_RESULT_LIST:
        result.kind = IR_TYPE_LIST;
        result.element = items_of(first);
        if (binding->integer != IR_PACKED_SEQUENCE_ERASE) {
            const bool sets = binding->integer == IR_PACKED_LIST_SET;
            const Probe *item = probe_of(context, binding->operands[sets ? 2 : 1]);
            if (item->state == PROBE_BOTTOM) return NULL;
            const IrType *element;
            TRY(element_type(context, item, &element));
            TRY(probe_join_elements(context->module, result.element, element, &result.element));
        }
        break;
    case IR_PACKED_RESULT_INT:
        result.kind = IR_TYPE_INT;
        break;
    case IR_PACKED_RESULT_BOOL:
        result.kind = IR_TYPE_BOOL;
        infer_has_element(context, binding, &result);
        break;
    }
    probe_set(probe_of(context, binding->results[0]), &result);
    return NULL;
}
