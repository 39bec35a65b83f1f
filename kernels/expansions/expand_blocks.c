/* FusedMatMulBlocks: the weights are dequantized, the rows rounded to bytes if that is asked for,
 * and both are multiplied. */
#include "kernels/expansions/expand_fused.h"

enum { ROWS, CODES, SCALES, ZEROS, BIAS, VALUES };
static const double BYTE_MAX = 127, LARGEST_MIN = 0x1p-100;

/* [rows, blocks, block] of a matrix, whose columns are whole blocks. */
static Error *split(ExpansionBuilder *builder, uint32_t value, int64_t block, uint32_t *out) {
    const Shape shape = expansion_spec(builder, value).shape;
    const int64_t blocks = shape.dims[1] / block;
    return expansion_reshape(builder, value, &(Shape){3, {shape.dims[0], blocks, block}}, out);
}

/* The numbers that the codes choose, times their scales. */
static Error *choose_weights(ExpansionBuilder *builder, int64_t block, uint32_t *out) {
    const Shape shape = expansion_spec(builder, CODES).shape;
    uint32_t codes = CODES, scales = SCALES, weights;
    TRY(expansion_cast(builder, codes, DTYPE_INT32, &codes));
    TRY(expansion_binary(
        builder, OPERATOR_GATHER, expansion_input(builder, VALUES), codes, &weights));
    TRY(split(builder, weights, block, &weights));
    TRY(split(builder, scales, 1, &scales));
    TRY(expansion_binary(builder, OPERATOR_MUL, weights, scales, &weights));
    return expansion_reshape(builder, weights, &shape, out);
}

static Error *dequantize(ExpansionBuilder *builder, int64_t block, uint32_t *out) {
    const bool has_zeros = plan_request_has(builder->request, ZEROS);
    const uint32_t inputs[3] = {CODES, SCALES, ZEROS};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    TRY(attributes_set_int(attributes, "block_size", block));
    return expansion_call(builder,
        (ExpansionCall){OPERATOR_DEQUANTIZE_LINEAR, TAKE(attributes), has_zeros ? 3 : 2, inputs, 1},
        out);
}

/* A matrix with zeros after its columns, up to whole blocks. */
static Error *pad(ExpansionBuilder *builder, int64_t missing, uint32_t *inout_value) {
    const int64_t pads[4] = {0, 0, 0, missing};
    uint32_t inputs[2] = {*inout_value};
    if (missing == 0) return NULL;
    TRY(expansion_ints(builder, pads, 4, &inputs[1]));
    return expansion_call(builder, (ExpansionCall){OPERATOR_PAD, NULL, 2, inputs, 1}, inout_value);
}

/* What a block is multiplied with to become bytes, and what the bytes are multiplied with: 0 for
 * blocks of small elements, NaN if an element is not finite. */
static Error *steps(
    ExpansionBuilder *builder, uint32_t value, uint32_t *out_inverse, uint32_t *out_step) {
    static const int64_t axis = 2;
    uint32_t most, least, zero, one, largest, finite, is_large;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, BYTE_MAX, &most));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, LARGEST_MIN, &least));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &zero));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 1, &one));
    TRY(expansion_binary(builder, OPERATOR_SUB, value, value, &finite));
    TRY(expansion_reduce(builder, OPERATOR_REDUCE_SUM, finite, &axis, 1, true, &finite));
    TRY(expansion_unary(builder, OPERATOR_ABS, value, &largest));
    TRY(expansion_reduce(builder, OPERATOR_REDUCE_MAX, largest, &axis, 1, true, &largest));
    TRY(expansion_binary(builder, OPERATOR_GREATER_OR_EQUAL, largest, least, &is_large));
    TRY(expansion_where(builder, is_large, largest, one, &largest));
    TRY(expansion_binary(builder, OPERATOR_DIV, most, largest, out_inverse));
    TRY(expansion_where(builder, is_large, *out_inverse, zero, out_inverse));
    TRY(expansion_binary(builder, OPERATOR_DIV, largest, most, out_step));
    TRY(expansion_where(builder, is_large, *out_step, zero, out_step));
    return expansion_binary(builder, OPERATOR_ADD, *out_step, finite, out_step);
}

/* The rows as their bytes stand for them. */
static Error *round_rows(ExpansionBuilder *builder, int64_t block, uint32_t *out) {
    const Shape shape = expansion_spec(builder, ROWS).shape;
    const int64_t depth = shape.dims[shape.rank - 1];
    const int64_t rows = shape_product(&shape, 0, shape.rank - 1);
    const int64_t whole = (depth + block - 1) / block * block;
    uint32_t value = ROWS, inverse, step;
    TRY(expansion_reshape(builder, value, &(Shape){2, {rows, depth}}, &value));
    TRY(pad(builder, whole - depth, &value));
    TRY(split(builder, value, block, &value));
    TRY(steps(builder, value, &inverse, &step));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, inverse, &value));
    TRY(expansion_unary(builder, OPERATOR_ROUND, value, &value));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, step, &value));
    TRY(expansion_reshape(builder, value, &(Shape){2, {rows, whole}}, &value));
    TRY(expansion_slice(builder, value, 1, 0, depth, &value));
    return expansion_reshape(builder, value, &shape, out);
}

Error *expand_matmul_blocks(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    const int64_t block = attributes_int(request->attributes, "block_size");
    const bool in_bytes = attributes_int(request->attributes, "activation_bits") == 8;
    uint32_t weights, value = ROWS;
    if (plan_request_has(request, VALUES))
        TRY(choose_weights(builder, block, &weights));
    else
        TRY(dequantize(builder, block, &weights));
    if (in_bytes && request->inputs[CODES].shape.dims[1] > 0)
        TRY(round_rows(builder, block, &value));
    TRY(expansion_swap(builder, &weights));
    TRY(expansion_binary(builder, OPERATOR_MATMUL, value, weights, &value));
    if (plan_request_has(request, BIAS))
        TRY(expansion_binary(builder, OPERATOR_ADD, value, expansion_input(builder, BIAS), &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}
