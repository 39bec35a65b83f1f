/* A list of scan outputs may be empty, and an empty list has no element whose shape could be read.
 * The pass finds each dimension of such a join in this order: from inference of the elements; from
 * the source's declaration; from a value that the loop was given, if a dimension of that value is
 * the same (a state that keeps its shape, a scanned tensor), read when the program runs; otherwise
 * 0. */
#include <string.h>

#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/pass.h"

/* The join of no elements. */
typedef struct Empty {
    DType dtype;
    Shape shape; /* 0 for dimensions that come from a value */
    /* the value that has the dimension; NULL: `shape` has it */
    const IrVariable *from[SHAPE_RANK_MAX];
    uint32_t from_dim[SHAPE_RANK_MAX];
    bool computed; /* some `from` is set */
} Empty;

static bool has_dim(const IrVariable *variable, int64_t symbol, Empty *inout, uint32_t to) {
    const IrType *type = &variable->type;
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known || variable->constant) return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] != symbol) continue;
        inout->from[to] = variable;
        inout->from_dim[to] = i;
        inout->computed = true;
        return true;
    }
    return false;
}

/* Searches the loop's arguments and the surrounding function's parameters. The loop's results are
 * left out: if the loop changes a shape, they have the last round's. */
static bool find_dim(const IrBinding *concat, int64_t symbol, Empty *inout, uint32_t to) {
    const IrBinding *loop = ir_resolve(concat->operands[0])->binding;
    const IrBlock *body = concat->block->function->body;
    if (symbol == IR_DIM_UNKNOWN) return false;
    if (loop && loop->kind == IR_CALL)
        for (uint32_t i = 0; i < loop->operand_count; i++)
            if (has_dim(ir_resolve(loop->operands[i]), symbol, inout, to)) return true;
    for (uint32_t i = 0; i < body->parameter_count; i++)
        if (has_dim(body->parameters[i], symbol, inout, to)) return true;
    return false;
}

/* declared: IR_DIM_UNKNOWN where nothing is. */
static void find_length(
    const IrBinding *concat, int64_t inferred, int64_t declared, Empty *inout, uint32_t to) {
    inout->shape.dims[to] = inferred >= 0 ? inferred : declared >= 0 ? declared : 0;
    if (inferred >= 0 || declared >= 0) return;
    if (!find_dim(concat, inferred, inout, to)) (void)find_dim(concat, declared, inout, to);
}

static const IrType *tensor_type(const IrType *type) {
    return type && type->kind == IR_TYPE_TENSOR ? type : NULL;
}

/* False when the element type is unknown. */
static bool find_shape(const IrBinding *concat, Empty *out) {
    const IrType *list = &concat->operands[0]->type;
    const IrType *element = tensor_type(list->kind == IR_TYPE_LIST ? list->element : NULL);
    const IrType *declared = tensor_type(concat->declared);
    *out = (Empty){.dtype = element ? element->dtype : DTYPE_NONE};
    if (out->dtype == DTYPE_NONE && declared) out->dtype = declared->dtype;
    if (out->dtype == DTYPE_NONE) return false;
    if (declared && !declared->rank_known) declared = NULL;
    if (!element || !element->rank_known) element = declared;
    if (!element) { /* the rank is not known */
        out->shape = (Shape){.rank = 1};
        return concat->flag;
    }
    if (declared && declared->rank != element->rank) declared = NULL;
    uint32_t rank = element->rank + (concat->flag ? 1 : 0), from = 0;
    int64_t axis = concat->integer < 0 ? concat->integer + rank : concat->integer;
    if (rank > SHAPE_RANK_MAX || axis < 0 || axis >= rank) return false;
    out->shape.rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        bool joined = i == (uint32_t)axis;
        if (!joined)
            find_length(concat, element->dims[from],
                declared ? declared->dims[from] : IR_DIM_UNKNOWN, out, i);
        if (!joined || !concat->flag) from++;
    }
    return true;
}

/* Reads one dimension as an int64 tensor [1]. */
static Error *read_length(IrCursor at, const Empty *empty, uint32_t i, IrVariable **out) {
    IrModule *module = at.block->function->module;
    const int64_t one = 1, dim = empty->from_dim[i];
    IrVariable *shape, *index;
    if (!empty->from[i]) return constants_ints(module, 1, 1, &empty->shape.dims[i], out);
    TRY(ir_build_shape_of(at, (IrVariable *)(uintptr_t)empty->from[i], &shape));
    TRY(constants_ints(module, 1, 1, &dim, &index));
    TRY(ir_build_simple(at, "Gather", NULL, shape, index, NULL, out));
    (*out)->type = ir_type_shaped(DTYPE_INT64, 1, &one);
    return NULL;
}

/* Builds a tensor without elements, whose dimensions may come from values of the run. */
static Error *build_empty(IrCursor at, const Empty *empty, const IrType *type, IrVariable **out) {
    IrModule *module = at.block->function->module;
    const int64_t rank = empty->shape.rank;
    Shape narrow = empty->shape;
    if (!empty->computed) return constants_zeros(module, empty->dtype, &empty->shape, out);
    IrVariable *lengths[SHAPE_RANK_MAX], *none, **joined;
    for (uint32_t i = 0; i < empty->shape.rank; i++) {
        TRY(read_length(at, empty, i, &lengths[i]));
        if (empty->from[i]) narrow.dims[i] = 1;
    }
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 0));
    TRY(ir_build_operator(at, "Concat", attributes, empty->shape.rank, lengths, 1, &joined));
    joined[0]->type = ir_type_shaped(DTYPE_INT64, 1, &rank);
    TRY(constants_zeros(module, empty->dtype, &narrow, &none));
    TRY(ir_build_simple(at, "Expand", NULL, none, joined[0], NULL, out));
    (*out)->type = type->dtype == DTYPE_NONE ? ir_type_tensor(empty->dtype) : *type;
    return NULL;
}

static Error *lower(IrBinding *binding) {
    IrVariable *length = binding->operands[1];
    IrVariable *result = binding->results[0];
    Empty found;
    binding->operand_count = 1;
    if (!find_shape(binding, &found)) return NULL;
    IrVariable *empty, *joined;
    IrBlock *then_block, *else_block;
    IrVariable **results;
    TRY(ir_build_if(ir_before(binding), length, 1, &then_block, &else_block, &results));
    TRY(ir_build_list_concat(ir_at_end(then_block), binding->operands[0], NULL, binding->integer,
        binding->flag, &joined));
    TRY(build_empty(ir_at_end(else_block), &found, &result->type, &empty));
    joined->type = result->type;
    results[0]->type = joined->type;
    TRY(ir_block_set_results(then_block, 1, &joined));
    TRY(ir_block_set_results(else_block, 1, &empty));
    result->replacement = results[0];
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
