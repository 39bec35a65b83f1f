/* Quantization, and the products of integers. */
#include <inttypes.h>

#include "kernels/arguments/quantization.h"
#include "kernels/shape_rules/shape_rules_internal.h"
#include "kernels/arguments/window.h"

static const DTypeSet BYTE_SET = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8);
static const DTypeSet QUANTIZED_SET = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) |
                                      DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_UINT16) |
                                      DTYPES_FLOAT8 | DTYPES_PACKED;

/* Checks that scale and zero point have one shape. If one of them is a scalar, the other may be a
 * vector of one element. */
static Error *check_zero_point(const PlanRequest *request, uint32_t scale, uint32_t zero_point) {
    if (!rule_has(request, zero_point)) return NULL;
    const Shape *scales = rule_shape(request, scale), *zeros = rule_shape(request, zero_point);
    if (shape_equal(scales, zeros)) return NULL;
    if (shape_count_unchecked(scales) == 1 && shape_count_unchecked(zeros) == 1) return NULL;
    FAIL(INVALID, "the zero point has another shape than the scale");
}

static Error *check_one_of(DType dtype, DTypeSet dtypes, const char *what) {
    if (dtype_in(dtypes, dtype)) return NULL;
    FAIL(INVALID, "%s %s", what, dtype_name(dtype));
}

Error *shape_rule_quantize_linear(PlanRequest *request) {
    const Attributes *attributes = request->attributes;
    QuantizationLayout layout;
    DType to = DTYPE_UINT8;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_INT32)));
    TRY(rule_check_dtype(request, 1,
        DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_FLOAT8E8M0)));
    TRY(check_zero_point(request, 1, 2));
    if (attributes_has(attributes, "output_dtype"))
        to = attributes_dtype(attributes, "output_dtype");
    if (rule_has(request, 2)) {
        if (attributes_has(attributes, "output_dtype") && rule_dtype(request, 2) != to)
            FAIL(INVALID, "output_dtype %s with a zero point of %s", dtype_name(to),
                dtype_name(rule_dtype(request, 2)));
        to = rule_dtype(request, 2);
    }
    TRY(check_one_of(to, QUANTIZED_SET, "to"));
    if (attributes_has(attributes, "precision"))
        TRY(check_one_of(
            attributes_dtype(attributes, "precision"), DTYPES_FLOAT32_AND_HALF, "precision"));
    TRY(quantization_layout(request, &layout));
    rule_set(request, 0, to, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_dequantize_linear(PlanRequest *request) {
    const Attributes *attributes = request->attributes;
    QuantizationLayout layout;
    TRY(rule_check_dtype(request, 0, QUANTIZED_SET | DTYPE_BIT(DTYPE_INT32)));
    TRY(rule_check_dtype(request, 1, DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_FLOAT8E8M0)));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(check_zero_point(request, 1, 2));
    DType to = rule_dtype(request, 1);
    if (attributes_has(attributes, "output_dtype"))
        to = attributes_dtype(attributes, "output_dtype");
    TRY(check_one_of(to, DTYPES_FLOAT32_AND_HALF, "to"));
    TRY(quantization_layout(request, &layout));
    rule_set(request, 0, to, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_dynamic_quantize_linear(PlanRequest *request) {
    const Shape scalar = {0};
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32)));
    rule_set(request, 0, DTYPE_UINT8, rule_shape(request, 0));
    rule_set(request, 1, DTYPE_FLOAT32, &scalar);
    rule_set(request, 2, DTYPE_UINT8, &scalar);
    return NULL;
}

/* NumPy's matmul of inputs `a` and `b`. */
static Error *matmul_shape(const PlanRequest *request, uint32_t a, uint32_t b, Shape *out) {
    const Shape *left = rule_shape(request, a), *right = rule_shape(request, b);
    if (left->rank == 0 || right->rank == 0) FAIL(INVALID, "a scalar operand");
    const int64_t columns = left->dims[left->rank - 1];
    const int64_t rows = right->dims[right->rank == 1 ? 0 : right->rank - 2];
    if (columns != rows) FAIL(INVALID, "%" PRId64 " columns times %" PRId64 " rows", columns, rows);
    Shape left_batch = {0}, right_batch = {0};
    if (left->rank > 2) left_batch = shape_make(left->rank - 2, left->dims);
    if (right->rank > 2) right_batch = shape_make(right->rank - 2, right->dims);
    TRY(shape_broadcast(&left_batch, &right_batch, out));
    if (left->rank > 1) TRY(rule_push(out, left->dims[left->rank - 2]));
    if (right->rank > 1) TRY(rule_push(out, right->dims[right->rank - 1]));
    return NULL;
}

/* The first two inputs with their zero points, `zero` and the next. */
static Error *integer_product(const PlanRequest *request, uint32_t zero, Shape *out) {
    Shape zeros;
    TRY(rule_check_dtype(request, 0, BYTE_SET));
    TRY(rule_check_dtype(request, 1, BYTE_SET));
    TRY(rule_check_same_dtype(request, zero, 0));
    TRY(rule_check_same_dtype(request, zero + 1, 1));
    TRY(matmul_shape(request, 0, 1, out));
    TRY(quantization_of_matrix(request, zero, 0, true, &zeros));
    return quantization_of_matrix(request, zero + 1, 1, false, &zeros);
}

Error *shape_rule_matmul_integer(PlanRequest *request) {
    Shape shape;
    TRY(integer_product(request, 2, &shape));
    rule_set(request, 0, DTYPE_INT32, &shape);
    return NULL;
}

static Error *check_single(const PlanRequest *request, uint32_t index) {
    if (!rule_has(request, index) || shape_count_unchecked(rule_shape(request, index)) == 1)
        return NULL;
    FAIL(INVALID, "input %u is not one number", index);
}

Error *shape_rule_qlinear_matmul(PlanRequest *request) {
    Shape shape, zeros;
    for (uint32_t i = 0; i < 8; i += 3)
        TRY(rule_check_dtype(request, i == 6 ? 7 : i, BYTE_SET | DTYPES_FLOAT8));
    TRY(rule_check_dtype(request, 1, DTYPES_FLOAT32_AND_HALF));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(rule_check_same_dtype(request, 4, 1));
    TRY(rule_check_same_dtype(request, 5, 3));
    TRY(rule_check_same_dtype(request, 6, 1));
    const bool floats = dtype_in(DTYPES_FLOAT8, rule_dtype(request, 0));
    if (floats != dtype_in(DTYPES_FLOAT8, rule_dtype(request, 3)))
        FAIL(INVALID, "%s times %s", dtype_name(rule_dtype(request, 0)),
            dtype_name(rule_dtype(request, 3)));
    TRY(matmul_shape(request, 0, 3, &shape));
    for (uint32_t i = 1; i < 3; i++) {
        TRY(quantization_of_matrix(request, i, 0, true, &zeros));
        TRY(quantization_of_matrix(request, i + 3, 3, false, &zeros));
        TRY(check_single(request, i + 5));
    }
    rule_set(request, 0, rule_dtype(request, 7), &shape);
    return NULL;
}

/* A has one scale, B one or a vector of them. */
static Error *check_scales(const PlanRequest *request, uint32_t a, uint32_t b) {
    TRY(check_single(request, a));
    if (rule_shape(request, a)->rank > 1 || rule_shape(request, b)->rank > 1)
        FAIL(INVALID, "scales of rank above 1");
    return NULL;
}

Error *shape_rule_fused_matmul_integer(PlanRequest *request) {
    Shape shape, scales;
    TRY(integer_product(request, 4, &shape));
    const Shape *b = rule_shape(request, 1);
    if (rule_shape(request, 0)->rank < 2 || b->rank < 2) FAIL(INVALID, "an operand of rank 1");
    const int64_t columns = b->dims[b->rank - 1];
    for (uint32_t i = 2; i < 8; i++)
        if (i != 4 && i != 5) TRY(rule_check_dtype(request, i, DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(check_scales(request, 2, 3));
    TRY(quantization_of_matrix(request, 3, 1, false, &scales));
    TRY(rule_check_shape(request, 6, 1, &columns));
    TRY(rule_check_shape(request, 7, shape.rank, shape.dims));
    rule_set(request, 0, DTYPE_FLOAT32, &shape);
    return NULL;
}

Error *shape_rule_fused_qlinear_matmul(PlanRequest *request) {
    const Shape *b = rule_shape(request, 3);
    TRY(rule_check_dtype(request, 0, BYTE_SET));
    TRY(rule_check_dtype(request, 7, BYTE_SET));
    TRY(shape_rule_qlinear_matmul(request));
    TRY(check_scales(request, 1, 4));
    TRY(rule_check_dtype(request, 8, DTYPE_BIT(DTYPE_INT32)));
    if (b->rank < 2) FAIL(INVALID, "an operand of rank 1");
    return rule_check_shape(request, 8, 1, &b->dims[b->rank - 1]);
}

static Error *conv_shape(
    const PlanRequest *request, const Shape *input, const Shape *weights, Shape *out) {
    const int64_t group = attributes_int(request->attributes, "group");
    if (group < 1) FAIL(INVALID, "group %" PRId64, group);
    if (input->rank < 3 || weights->rank != input->rank)
        FAIL(INVALID, "an input of rank %u with weights of rank %u", input->rank, weights->rank);
    if (weights->dims[0] % group != 0 || input->dims[1] % group != 0 ||
        input->dims[1] / group != weights->dims[1])
        FAIL(INVALID,
            "%" PRId64 " channels in %" PRId64 " groups with weights [%" PRId64 ", %" PRId64 ", …]",
            input->dims[1], group, weights->dims[0], weights->dims[1]);
    Window window;
    TRY(window_of(request, &window));
    *out = (Shape){.rank = 2, .dims = {input->dims[0], weights->dims[0]}};
    for (uint32_t i = 0; i < window.rank; i++) TRY(rule_push(out, window.output[i]));
    return NULL;
}

/* Accepts one number, or one for each output channel. */
static Error *check_per_channel(const PlanRequest *request, uint32_t index, int64_t channels) {
    if (!rule_has(request, index) || shape_count_unchecked(rule_shape(request, index)) == 1)
        return NULL;
    return rule_check_shape(request, index, 1, &channels);
}

Error *shape_rule_conv_integer(PlanRequest *request) {
    Shape shape;
    TRY(rule_check_dtype(request, 0, BYTE_SET));
    TRY(rule_check_dtype(request, 1, BYTE_SET));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(rule_check_same_dtype(request, 3, 1));
    TRY(conv_shape(request, rule_shape(request, 0), rule_shape(request, 1), &shape));
    TRY(check_single(request, 2));
    TRY(check_per_channel(request, 3, rule_shape(request, 1)->dims[0]));
    rule_set(request, 0, DTYPE_INT32, &shape);
    return NULL;
}

Error *shape_rule_qlinear_conv(PlanRequest *request) {
    static const uint32_t scales[] = {1, 4, 6}, singles[] = {1, 2, 6, 7};
    Shape shape;
    TRY(rule_check_dtype(request, 0, BYTE_SET));
    TRY(rule_check_dtype(request, 3, BYTE_SET));
    TRY(rule_check_dtype(request, 7, BYTE_SET));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(rule_check_same_dtype(request, 5, 3));
    TRY(rule_check_dtype(request, 8, DTYPE_BIT(DTYPE_INT32)));
    for (uint32_t i = 0; i < 3; i++)
        TRY(rule_check_dtype(request, scales[i], DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(conv_shape(request, rule_shape(request, 0), rule_shape(request, 3), &shape));
    const int64_t channels = rule_shape(request, 3)->dims[0];
    for (uint32_t i = 0; i < 4; i++) TRY(check_single(request, singles[i]));
    TRY(check_per_channel(request, 4, channels));
    TRY(check_per_channel(request, 5, channels));
    TRY(rule_check_shape(request, 8, 1, &channels));
    rule_set(request, 0, rule_dtype(request, 7), &shape);
    return NULL;
}
