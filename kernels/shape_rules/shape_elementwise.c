#include <string.h>

#include "kernels/shape_rules/shape_rules_internal.h"

#define BOOL_SET DTYPE_BIT(DTYPE_BOOL)
static const DTypeSet SIGNED_SET = DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_INT16) |
                                   DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64);

/* All inputs broadcast together. */
static Error *broadcast_all(PlanRequest *request, DType dtype) {
    Shape shape = *rule_shape(request, 0);
    for (uint32_t i = 1; i < request->input_count; i++)
        TRY(shape_broadcast(&shape, rule_shape(request, i), &shape));
    rule_set(request, 0, dtype, &shape);
    return NULL;
}

static Error *broadcast_same(PlanRequest *request, DTypeSet dtypes, DType result) {
    TRY(rule_check_dtype(request, 0, dtypes));
    for (uint32_t i = 1; i < request->input_count; i++) TRY(rule_check_same_dtype(request, i, 0));
    return broadcast_all(request, result == DTYPE_NONE ? rule_dtype(request, 0) : result);
}

static Error *unary(PlanRequest *request, DTypeSet dtypes, DType result) {
    TRY(rule_check_dtype(request, 0, dtypes));
    rule_set(
        request, 0, result == DTYPE_NONE ? rule_dtype(request, 0) : result, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_binary(PlanRequest *request) {
    return broadcast_same(request, DTYPES_NUMBER, DTYPE_NONE);
}
Error *shape_rule_variadic(PlanRequest *request) {
    return broadcast_same(request, DTYPES_NUMBER, DTYPE_NONE);
}
Error *shape_rule_variadic_float(PlanRequest *request) {
    return broadcast_same(request, DTYPES_FLOAT, DTYPE_NONE);
}
Error *shape_rule_logical(PlanRequest *request) {
    return broadcast_same(request, BOOL_SET, DTYPE_NONE);
}
Error *shape_rule_bitwise(PlanRequest *request) {
    return broadcast_same(request, DTYPES_INTEGER, DTYPE_NONE);
}
Error *shape_rule_compare(PlanRequest *request) {
    return broadcast_same(request, DTYPES_NUMBER, DTYPE_BOOL);
}
Error *shape_rule_equal(PlanRequest *request) {
    return broadcast_same(request, DTYPES_NUMBER | BOOL_SET | DTYPE_BIT(DTYPE_STRING), DTYPE_BOOL);
}

/* A gate and the tensor that it scales; ONNX does not broadcast them. */
Error *shape_rule_gated(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_shape(request, 1, rule_shape(request, 0)->rank, rule_shape(request, 0)->dims));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_bit_shift(PlanRequest *request) {
    const char *direction = attributes_text(request->attributes, "direction");
    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
        FAIL(INVALID, "direction \"%.40s\"", direction);
    return broadcast_same(request, DTYPES_INTEGER, DTYPE_NONE);
}

/* The exponent may have another element type. */
Error *shape_rule_power(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_dtype(request, 1, DTYPES_NUMBER));
    return broadcast_all(request, rule_dtype(request, 0));
}

Error *shape_rule_where(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, BOOL_SET));
    TRY(rule_check_dtype(request, 1, DTYPES_POINTWISE | DTYPE_BIT(DTYPE_STRING)));
    TRY(rule_check_same_dtype(request, 2, 1));
    return broadcast_all(request, rule_dtype(request, 1));
}

/* The slope broadcasts to the input, never the other way. */
Error *shape_rule_prelu(PlanRequest *request) {
    TRY(broadcast_same(request, DTYPES_NUMBER, DTYPE_NONE));
    if (!shape_equal(&request->outputs[0].shape, rule_shape(request, 0)))
        FAIL(INVALID, "the slope does not broadcast to the input");
    return NULL;
}

Error *shape_rule_unary_signed(PlanRequest *request) {
    return unary(request, SIGNED_SET, DTYPE_NONE);
}
Error *shape_rule_unary_number(PlanRequest *request) {
    return unary(request, DTYPES_NUMBER, DTYPE_NONE);
}
Error *shape_rule_unary_float(PlanRequest *request) {
    return unary(request, DTYPES_FLOAT, DTYPE_NONE);
}
Error *shape_rule_is_nan(PlanRequest *request) {
    return unary(request, DTYPES_FLOAT | DTYPES_FLOAT8, DTYPE_BOOL);
}
Error *shape_rule_same(PlanRequest *request) { return unary(request, UINT32_MAX, DTYPE_NONE); }

Error *shape_rule_gelu(PlanRequest *request) {
    const char *approximate = attributes_text(request->attributes, "approximate");
    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0)
        FAIL(INVALID, "approximate \"%.40s\"", approximate);
    return unary(request, DTYPES_FLOAT, DTYPE_NONE);
}

static Error *cast_to(PlanRequest *request, DType to) {
    const char *mode = attributes_text(request->attributes, "round_mode");
    if (strcmp(mode, "up") != 0 && strcmp(mode, "down") != 0 && strcmp(mode, "nearest") != 0)
        FAIL(INVALID, "round_mode \"%.40s\"", mode);
    const DType from = rule_dtype(request, 0);
    const DTypeSet printed = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    if ((from == DTYPE_STRING && !(printed >> to & 1)) ||
        (to == DTYPE_STRING && !(printed >> from & 1)))
        FAIL(UNSUPPORTED, "from %s to %s", dtype_name(from), dtype_name(to));
    rule_set(request, 0, to, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_cast(PlanRequest *request) {
    return cast_to(request, attributes_dtype(request->attributes, "to"));
}
Error *shape_rule_cast_like(PlanRequest *request) {
    return cast_to(request, rule_dtype(request, 1));
}

/* The limits are scalars. Tensors of one element are accepted, too, since older exporters write
 * them. */
Error *shape_rule_clip(PlanRequest *request) {
    for (uint32_t i = 1; i < request->input_count; i++) {
        if (!rule_has(request, i)) continue;
        TRY(rule_check_same_dtype(request, i, 0));
        if (rule_shape(request, i)->rank > 1 ||
            rule_shape(request, i)->rank > rule_shape(request, 0)->rank ||
            shape_count_unchecked(rule_shape(request, i)) != 1)
            FAIL(INVALID, "input %u is not a scalar", i);
    }
    return unary(request, DTYPES_NUMBER, DTYPE_NONE);
}

/* Inference: training_mode must be absent or false. */
Error *shape_rule_dropout(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT | DTYPES_FLOAT8));
    TRY(rule_check_dtype(request, 2, BOOL_SET));
    if (rule_has(request, 2)) {
        if (shape_count_unchecked(rule_shape(request, 2)) != 1)
            FAIL(INVALID, "training_mode is not a scalar");
        if (*(const uint8_t *)request->values[2]) FAIL(UNSUPPORTED, "training_mode");
    }
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    rule_set(request, 1, DTYPE_BOOL, rule_shape(request, 0));
    return NULL;
}
