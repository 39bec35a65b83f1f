/* Products of bytes with what is fused behind them. */
#include "kernels/expansions/expand_fused.h"

/* The sums of A, B and their zero points. */
static Error *sums_of(
    ExpansionBuilder *builder, uint32_t b, uint32_t a_zero, uint32_t b_zero, uint32_t *out) {
    const uint32_t inputs[4] = {
        0, b, expansion_input(builder, a_zero), expansion_input(builder, b_zero)};
    return expansion_call(
        builder, (ExpansionCall){OPERATOR_MATMUL_INTEGER, NULL, 4, inputs, 1}, out);
}

Error *expand_fused_matmul_integer(ExpansionBuilder *builder) {
    uint32_t value, scales;
    TRY(sums_of(builder, 1, 4, 5, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    TRY(expansion_binary(builder, OPERATOR_MUL, 2, 3, &scales));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, scales, &value));
    TRY(expand_fused_epilogue(builder, 6, 7, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* a_scale * b_scale / y_scale, rounded to float32 twice, as float64. */
static Error *factors_of(ExpansionBuilder *builder, uint32_t *out) {
    uint32_t a, b, y;
    TRY(expansion_cast(builder, 1, DTYPE_FLOAT32, &a));
    TRY(expansion_cast(builder, 4, DTYPE_FLOAT32, &b));
    TRY(expansion_cast(builder, 6, DTYPE_FLOAT32, &y));
    TRY(expansion_binary(builder, OPERATOR_MUL, a, b, out));
    TRY(expansion_binary(builder, OPERATOR_DIV, *out, y, out));
    return expansion_cast(builder, *out, DTYPE_FLOAT64, out);
}

Error *expand_fused_qlinear_matmul(ExpansionBuilder *builder) {
    const DType to = builder->request->inputs[7].dtype;
    const double low = to == DTYPE_INT8 ? -128 : 0;
    uint32_t value, factors, is_number, none, zero, clip[3];
    TRY(sums_of(builder, 3, 2, 5, &value));
    TRY(expansion_binary(builder, OPERATOR_ADD, value, 8, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT64, &value));
    TRY(factors_of(builder, &factors));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, factors, &value));
    TRY(expansion_binary(builder, OPERATOR_EQUAL, value, value, &is_number));
    TRY(expansion_scalar(builder, DTYPE_FLOAT64, 0, &none));
    TRY(expansion_where(builder, is_number, value, none, &value));
    TRY(expansion_unary(builder, OPERATOR_ROUND, value, &value));
    TRY(expansion_cast(builder, 7, DTYPE_FLOAT64, &zero));
    TRY(expansion_binary(builder, OPERATOR_ADD, value, zero, &clip[0]));
    TRY(expansion_scalar(builder, DTYPE_FLOAT64, low, &clip[1]));
    TRY(expansion_scalar(builder, DTYPE_FLOAT64, low + 255, &clip[2]));
    TRY(expansion_call(builder, (ExpansionCall){OPERATOR_CLIP, NULL, 3, clip, 1}, &value));
    TRY(expansion_cast(builder, value, to, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}
