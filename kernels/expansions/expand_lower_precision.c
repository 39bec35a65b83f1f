/* Matrix products, convolutions and recurrent networks at a lower precision. */
#include "kernels/expansions/expand_fused.h"
#include "kernels/operator/operator_lower.h"

enum { CONV_INPUTS = 2, RECURRENT_INPUTS_MAX = 8 };
static const double BYTE_MAX = 255, HALF_RANGE_MIN = 0x1p-101;

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

/* The axes that share a range; the other axes have ranges of their own. */
typedef struct Axes {
    uint32_t count;
    int64_t axes[3];
} Axes;
static const Axes row = {1, {-1}};           /* rows of A */
static const Axes image = {3, {-3, -2, -1}}; /* images of [N, H, W, C] */

/* The values of the quantized first operand: bytes, kept as float32. */
typedef struct Bytes {
    uint32_t bytes; /* of the operand's shape */
    uint32_t zero;  /* 1 along the axes; the same for step */
    uint32_t step;
    uint32_t finite; /* the finite elements; the others are 0 here */
} Bytes;

/* The operand with 0 in place of elements that are not finite. */
static Error *keep_finite(ExpansionBuilder *builder, uint32_t *out_finite, uint32_t *out) {
    uint32_t zero;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &zero));
    /* 0 where finite, otherwise NaN */
    TRY(expansion_binary(builder, OPERATOR_SUB, 0, 0, out_finite));
    TRY(expansion_binary(builder, OPERATOR_EQUAL, *out_finite, zero, out_finite));
    return expansion_where(builder, *out_finite, 0, zero, out);
}

/* The least or the largest along the axes and 0. */
static Error *extreme(ExpansionBuilder *builder, uint32_t value, const Axes *along,
    OperatorId reduce, OperatorId with_zero, uint32_t *out) {
    uint32_t zero;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &zero));
    TRY(expansion_reduce(builder, reduce, value, along->axes, along->count, true, out));
    return expansion_binary(builder, with_zero, *out, zero, out);
}

/* Half of high - low, which may be beyond float32. */
static Error *half_range(ExpansionBuilder *builder, uint32_t low, uint32_t high, uint32_t *out) {
    uint32_t half, least;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0.5, &half));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, HALF_RANGE_MIN, &least));
    TRY(expansion_binary(builder, OPERATOR_MUL, low, half, &low));
    TRY(expansion_binary(builder, OPERATOR_MUL, high, half, &high));
    TRY(expansion_binary(builder, OPERATOR_SUB, high, low, out));
    return expansion_binary(builder, OPERATOR_MAX, *out, least, out);
}

static Error *quantize(ExpansionBuilder *builder, const Axes *along, Bytes *out) {
    uint32_t value, low, high, range, inverse, most, half_most, clip[3];
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, BYTE_MAX, &most));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, BYTE_MAX / 2, &half_most));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &clip[1]));
    TRY(keep_finite(builder, &out->finite, &value));
    TRY(extreme(builder, value, along, OPERATOR_REDUCE_MIN, OPERATOR_MIN, &low));
    TRY(extreme(builder, value, along, OPERATOR_REDUCE_MAX, OPERATOR_MAX, &high));
    TRY(half_range(builder, low, high, &range));
    TRY(expansion_binary(builder, OPERATOR_DIV, half_most, range, &inverse));
    TRY(expansion_binary(builder, OPERATOR_DIV, range, half_most, &out->step));
    TRY(expansion_unary(builder, OPERATOR_NEG, low, &out->zero));
    TRY(expansion_binary(builder, OPERATOR_MUL, out->zero, inverse, &out->zero));
    TRY(expansion_unary(builder, OPERATOR_ROUND, out->zero, &out->zero));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, inverse, &clip[0]));
    TRY(expansion_unary(builder, OPERATOR_ROUND, clip[0], &clip[0]));
    TRY(expansion_binary(builder, OPERATOR_ADD, clip[0], out->zero, &clip[0]));
    clip[2] = most;
    return expansion_call(builder, (ExpansionCall){OPERATOR_CLIP, NULL, 3, clip, 1}, &out->bytes);
}

/* Sums that are float32 become the result. */
static Error *scale(ExpansionBuilder *builder, const Bytes *bytes, uint32_t value) {
    uint32_t scales;
    TRY(expansion_binary(builder, OPERATOR_MUL, bytes->step, 2, &scales));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, scales, &value));
    TRY(expand_fused_epilogue(builder, 3, 4, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* The products of A's elements that are not finite with their weights; 0 if all are finite. */
static Error *infinite_products(ExpansionBuilder *builder, uint32_t finite, uint32_t *out) {
    uint32_t value, weights = 1;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &value));
    TRY(expansion_where(builder, finite, value, 0, &value));
    TRY(expansion_cast(builder, weights, DTYPE_FLOAT32, &weights));
    return expansion_binary(builder, OPERATOR_MATMUL, value, weights, out);
}

Error *expand_fused_matmul_int8(ExpansionBuilder *builder) {
    Bytes bytes;
    uint32_t value, infinite;
    TRY(quantize(builder, &row, &bytes));
    TRY(expansion_cast(builder, bytes.bytes, DTYPE_UINT8, &bytes.bytes));
    TRY(expansion_cast(builder, bytes.zero, DTYPE_UINT8, &bytes.zero));
    const uint32_t inputs[3] = {bytes.bytes, 1, bytes.zero};
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_MATMUL_INTEGER, NULL, 3, inputs, 1}, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    TRY(infinite_products(builder, bytes.finite, &infinite));
    TRY(expansion_binary(builder, OPERATOR_ADD, value, infinite, &value));
    return scale(builder, &bytes, value);
}

/* A convolution of X and W of one type; X and the result have their channels last. */
static Error *conv(ExpansionBuilder *builder, uint32_t x, uint32_t w, uint32_t *out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        builder->request->attributes, operator_get(OPERATOR_CONV), attributes));
    TRY(expansion_channels_first(builder, &x));
    const uint32_t inputs[CONV_INPUTS] = {x, w};
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_CONV, TAKE(attributes), CONV_INPUTS, inputs, 1}, out));
    return expansion_channels_last(builder, out);
}

Error *expand_fused_conv_bfloat16(ExpansionBuilder *builder) {
    uint32_t value = 0, weights = 1;
    TRY(expansion_cast(builder, value, DTYPE_BFLOAT16, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    TRY(expansion_cast(builder, weights, DTYPE_FLOAT32, &weights));
    TRY(conv(builder, value, weights, &value));
    TRY(expand_fused_epilogue(builder, 2, 3, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* Computed in float64, where the sums are exact: ConvInteger takes only one zero point for all
 * images. */
Error *expand_fused_conv_int8(ExpansionBuilder *builder) {
    Bytes bytes;
    uint32_t value, weights = 1;
    TRY(quantize(builder, &image, &bytes));
    TRY(expansion_binary(builder, OPERATOR_SUB, bytes.bytes, bytes.zero, &value));
    TRY(expansion_where(builder, bytes.finite, value, 0, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT64, &value));
    TRY(expansion_cast(builder, weights, DTYPE_FLOAT64, &weights));
    TRY(conv(builder, value, weights, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    return scale(builder, &bytes, value);
}

/* Computes the network with its weights widened to float32. */
Error *expand_recurrent_bfloat16(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    const OperatorId wide = operator_lower_of(request->operator_info->id);
    uint32_t inputs[RECURRENT_INPUTS_MAX], first;
    OWN(Attributes, attributes) = NULL;
    for (uint32_t i = 0; i < request->input_count; i++) inputs[i] = expansion_input(builder, i);
    for (uint32_t i = 1; i < 3; i++)
        TRY(expansion_cast(builder, inputs[i], DTYPE_FLOAT32, &inputs[i]));
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(request->attributes, operator_get(wide), attributes));
    TRY(expansion_call(builder,
        (ExpansionCall){
            wide, TAKE(attributes), request->input_count, inputs, request->output_count},
        &first));
    for (uint32_t i = 0; i < request->output_count; i++)
        expansion_set_output(builder, i, first + i);
    return NULL;
}
