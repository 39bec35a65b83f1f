/* Shape and Size read only metadata: as ShapeOf they need no copy of the tensor. */
#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/pass.h"

/* Shape with start and end: a slice of the whole. */
static Error *shape_slice(IrBinding *binding, IrVariable *whole, IrVariable **out) {
    IrModule *module = binding->block->function->module;
    const Attributes *attributes = binding->attributes;
    int64_t start = attributes_int(attributes, "start");
    int64_t end = attributes_has(attributes, "end") ? attributes_int(attributes, "end") : INT64_MAX;
    *out = whole;
    if (start == 0 && end == INT64_MAX) return NULL;
    IrVariable *starts, *ends;
    TRY(constants_ints(module, 1, 1, &start, &starts));
    TRY(constants_ints(module, 1, 1, &end, &ends));
    return ir_build_simple(ir_before(binding), "Slice", NULL, whole, starts, ends, out);
}

static Error *size_of(IrBinding *binding, IrVariable *shape, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", 0));
    return ir_build_simple(ir_before(binding), "ReduceProd", attributes, shape, NULL, NULL, out);
}

static Error *lower(IrBinding *binding) {
    OperatorId id = binding->operator_info->id;
    if (id != OPERATOR_SHAPE && id != OPERATOR_SIZE) return NULL;
    IrVariable *shape, *result;
    TRY(ir_build_shape_of(ir_before(binding), binding->operands[0], &shape));
    if (id == OPERATOR_SHAPE)
        TRY(shape_slice(binding, shape, &result));
    else
        TRY(size_of(binding, shape, &result));
    binding->results[0]->replacement = result;
    ir_remove(binding);
    return NULL;
}

Error *shape_reads_pass(PassContext *context) {
    IrModule *module = context->module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        while (binding) {
            IrBinding *next = ir_walk_next(binding);
            if (binding->kind == IR_OPERATOR) TRY(lower(binding));
            binding = next;
        }
    }
    ir_replace_all(module);
    return NULL;
}
