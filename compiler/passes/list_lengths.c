/* A list of scan outputs may be empty, and an empty list does not know what its elements would have
 * been: where their type is known, the empty result is a constant. */
#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/pass.h"

/* The shape of the join of no elements; false where the element's type is not known enough. */
static bool empty_shape(const IrBinding *binding, DType *out_dtype, Shape *out) {
    const IrType *list = &binding->operands[0]->type;
    const IrType *element = list->kind == IR_TYPE_LIST ? list->element : NULL;
    if (!element || element->kind != IR_TYPE_TENSOR || element->dtype == DTYPE_NONE) return false;
    if (dtype_bits(element->dtype) == 0) return false;
    *out_dtype = element->dtype;
    if (!element->rank_known) { /* as much as can be said */
        *out = (Shape){.rank = 1};
        return binding->flag;
    }
    uint32_t rank = element->rank + (binding->flag ? 1 : 0);
    int64_t axis = binding->integer < 0 ? binding->integer + rank : binding->integer;
    if (rank > SHAPE_RANK_MAX || axis < 0 || axis >= rank) return false;
    *out = (Shape){.rank = rank};
    uint32_t from = 0;
    for (uint32_t i = 0; i < rank; i++) {
        bool joined = i == (uint32_t)axis;
        int64_t dim = joined && binding->flag ? 0 : element->dims[from++];
        out->dims[i] = joined || dim < 0 ? 0 : dim;
    }
    return true;
}

static Error *lower(IrBinding *binding) {
    IrVariable *length = binding->operands[1];
    Shape shape;
    DType dtype;
    binding->operand_count = 1;
    if (!empty_shape(binding, &dtype, &shape)) return NULL;
    IrVariable *empty, *joined;
    TRY(constants_zeros(binding->block->function->module, dtype, &shape, &empty));
    IrBlock *then_block, *else_block;
    IrVariable **results;
    TRY(ir_build_if(ir_before(binding), length, 1, &then_block, &else_block, &results));
    TRY(ir_build_list_concat(ir_at_end(then_block), binding->operands[0], NULL, binding->integer,
        binding->flag, &joined));
    joined->type = binding->results[0]->type;
    results[0]->type = joined->type;
    TRY(ir_block_set_results(then_block, 1, &joined));
    TRY(ir_block_set_results(else_block, 1, &empty));
    binding->results[0]->replacement = results[0];
    ir_remove(binding);
    return NULL;
}

Error *list_lengths_pass(PassContext *context) {
    IrModule *module = context->module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        while (binding) {
            IrBinding *next = ir_walk_next(binding);
            if (binding->kind == IR_LIST_CONCAT && binding->operand_count == 2) TRY(lower(binding));
            binding = next;
        }
    }
    ir_replace_all(module);
    return NULL;
}
