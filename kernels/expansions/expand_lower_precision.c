/* Matrix products, convolutions and recurrent networks at a lower precision. */
#include "kernels/expansions/expand_fused.h"
#include "kernels/operator_lower.h"

enum { BYTE_MAX = 255, CONV_INPUTS = 2, RECURRENT_INPUTS_MAX = 8 };
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

/* Over which axes an operand has a range of its own. */
typedef struct Axes {
    uint32_t count;
    int64_t axes[3];
} Axes;
static const Axes row = {1, {-1}};           /* of A */
static const Axes image = {3, {-3, -2, -1}}; /* of [N, H, W, C] */

/* The first operand as bytes, which are float32 still: values of the expansion. */
typedef struct Bytes {
    uint32_t bytes; /* of the operand's shape */
    uint32_t zero;  /* 1 along the axes, as the step */
    uint32_t step;
} Bytes;

/* The least or the largest along the axes and 0. */
static Error *extreme(ExpansionBuilder *builder, const Axes *along, OperatorId reduce,
    OperatorId with_zero, uint32_t *out) {
    uint32_t zero;
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &zero));
    TRY(expansion_reduce(builder, reduce, 0, along->axes, along->count, true, out));
    return expansion_binary(builder, with_zero, *out, zero, out);
}

static Error *quantize(ExpansionBuilder *builder, const Axes *along, Bytes *out) {
    uint32_t low, high, range, inverse, nothing, least, most, clip[3];
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, RANGE_MIN, &least));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, BYTE_MAX, &most));
    TRY(expansion_scalar(builder, DTYPE_FLOAT32, 0, &clip[1]));
    TRY(extreme(builder, along, OPERATOR_REDUCE_MIN, OPERATOR_MIN, &low));
    TRY(extreme(builder, along, OPERATOR_REDUCE_MAX, OPERATOR_MAX, &high));
    TRY(expansion_binary(builder, OPERATOR_SUB, high, low, &range));
    /* 0, or NaN for a row that has no finite range */
    TRY(expansion_binary(builder, OPERATOR_SUB, range, range, &nothing));
    TRY(expansion_binary(builder, OPERATOR_MAX, range, least, &range));
    TRY(expansion_binary(builder, OPERATOR_DIV, most, range, &inverse));
    TRY(expansion_binary(builder, OPERATOR_DIV, range, most, &out->step));
    TRY(expansion_binary(builder, OPERATOR_ADD, out->step, nothing, &out->step));
    TRY(expansion_unary(builder, OPERATOR_NEG, low, &out->zero));
    TRY(expansion_binary(builder, OPERATOR_MUL, out->zero, inverse, &out->zero));
    TRY(expansion_unary(builder, OPERATOR_ROUND, out->zero, &out->zero));
    TRY(expansion_binary(builder, OPERATOR_MUL, 0, inverse, &clip[0]));
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

Error *expand_fused_matmul_int8(ExpansionBuilder *builder) {
    Bytes bytes;
    uint32_t value;
    TRY(quantize(builder, &row, &bytes));
    TRY(expansion_cast(builder, bytes.bytes, DTYPE_UINT8, &bytes.bytes));
    TRY(expansion_cast(builder, bytes.zero, DTYPE_UINT8, &bytes.zero));
    const uint32_t inputs[3] = {bytes.bytes, 1, bytes.zero};
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_MATMUL_INTEGER, NULL, 3, inputs, 1}, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    return scale(builder, &bytes, value);
}

/* X and W of one type; X and the result have their channels last. */
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

/* ConvInteger knows one zero for all images; in float64 the sums are exact, too. */
Error *expand_fused_conv_int8(ExpansionBuilder *builder) {
    Bytes bytes;
    uint32_t value, weights = 1;
    TRY(quantize(builder, &image, &bytes));
    TRY(expansion_binary(builder, OPERATOR_SUB, bytes.bytes, bytes.zero, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT64, &value));
    TRY(expansion_cast(builder, weights, DTYPE_FLOAT64, &weights));
    TRY(conv(builder, value, weights, &value));
    TRY(expansion_cast(builder, value, DTYPE_FLOAT32, &value));
    return scale(builder, &bytes, value);
}

/* The same network of wider weights. */
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
