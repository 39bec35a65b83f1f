#include "compiler/passes/infer_lists.h"

/* The type of what a list is made of. */
static Error *element_type(ProbeContext *context, const Probe *element, const IrType **out) {
    IrType type;
    TRY(probe_to_type(context, element, &type));
    void *copy;
    TRY(arena_copy(&context->module->arena, &type, 1, sizeof type, &copy));
    *out = copy;
    return NULL;
}

Error *infer_lists_make(ProbeContext *context, const IrBinding *binding) {
    bool appends = binding->kind == IR_LIST_APPEND;
    Probe list = {.state = PROBE_KNOWN, .kind = IR_TYPE_LIST};
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *operand = probe_of(context, binding->operands[i]);
        if (operand->state == PROBE_BOTTOM) return NULL;
        const IrType *element = operand->element;
        if (!appends || i == 1) TRY(element_type(context, operand, &element));
        TRY(probe_join_elements(context->module, list.element, element, &list.element));
    }
    probe_set(probe_of(context, binding->results[0]), &list);
    return NULL;
}

/* A tensor of a list's elements joined; its length along the axis is a symbol. */
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
