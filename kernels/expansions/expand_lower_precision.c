/* Matrix products at a lower precision. */
#include "kernels/expansions/expand_fused.h"

enum { BYTE_MAX = 255 };
static const double RANGE_MIN = 0x1p-100;

Error *expand_fused_matmul_bfloat16(ExpansionBuilder *builder) {
    uint32_t value = 0, weights = 1;
    TRY(expansion_cast(builder, value, DTYPE_BFLOAT16, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    TRY(expansion_cast(builder, weights, DTYPE_FLOAT32, &weights));
    TRY(expansion_binary(builder, OPERATOR_MATMUL, value, weights, &value));
    TRY(expand_fused_epilogue(builder, 2, 3, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* Rows of A as bytes: values of the expansion. */
typedef struct Rows {
    uint32_t bytes, zero; /* uint8 [.., M, K] and [.., M, 1] */
    uint32_t step;        /* float32 [.., M, 1] */
} Rows;

/* The least or the largest of each row and 0. */
static Error *extreme(
    ExpansionBuilder *builder, OperatorId reduce, OperatorId with_zero, uint32_t *out) {
    const int64_t last = -1;
    uint32_t zero;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &zero));
    TRY(expansion_reduce(builder, reduce, 0, &last, 1, true, out));
    return expansion_binary(builder, with_zero, *out, zero, out);
}

static Error *quantize_rows(ExpansionBuilder *builder, Rows *out) {
    uint32_t low, high, range, inverse, nothing, least, most, zero, clip[3];
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, RANGE_MIN, &least));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, BYTE_MAX, &most));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &clip[1]));
    TRY(extreme(builder, OPERATOR_REDUCE_MIN, OPERATOR_MIN, &low));
    TRY(extreme(builder, OPERATOR_REDUCE_MAX, OPERATOR_MAX, &high));
    TRY(expansion_binary(builder, OPERATOR_SUB, high, low, &range));
    /* 0, or NaN for a row that has no finite range */
    TRY(expansion_binary(builder, OPERATOR_SUB, range, range, &nothing));
    TRY(expansion_binary(builder, OPERATOR_MAX, range, least, &range));
    TRY(expansion_binary(builder, OPERATOR_DIV, most, range, &inverse));
    TRY(expansion_binary(builder, OPERATOR_DIV, range, most, &out->step));
    TRY(expansion_binary(builder, OPERATOR_ADD, out->step, nothing, &out->step));
    TRY(expansion_unary(builder, OPERATOR_NEG, low, &zero));
    TRY(expansion_binary(builder, OPERATOR_MUL, zero, inverse, &zero));
    TRY(expansion_unary(builder, OPERATOR_ROUND, zero, &zero));
    TRY(expansion_binary(builder, OPERATOR_MUL, 0, inverse, &clip[0]));
    TRY(expansion_unary(builder, OPERATOR_ROUND, clip[0], &clip[0]));
    TRY(expansion_binary(builder, OPERATOR_ADD, clip[0], zero, &clip[0]));
    clip[2] = most;
    TRY(expansion_call(builder, (ExpansionCall){OPERATOR_CLIP, NULL, 3, clip, 1}, &out->bytes));
    TRY(expansion_cast(builder, out->bytes, DTYPE_UINT8, &out->bytes));
    return expansion_cast(builder, zero, DTYPE_UINT8, &out->zero);
}

Error *expand_fused_matmul_int8(ExpansionBuilder *builder) {
    Rows rows;
    uint32_t value, scales;
    TRY(quantize_rows(builder, &rows));
    const uint32_t inputs[3] = {rows.bytes, 1, rows.zero};
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_MATMUL_INTEGER, NULL, 3, inputs, 1}, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    TRY(expansion_binary(builder, OPERATOR_MUL, rows.step, 2, &scales));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, scales, &value));
    TRY(expand_fused_epilogue(builder, 3, 4, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}
