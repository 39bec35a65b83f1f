#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

static double curve(OperatorId id, double x) {
    switch ((int)id) {
    case OPERATOR_TAN:
        return tan(x);
    case OPERATOR_ASIN:
        return asin(x);
    case OPERATOR_ACOS:
        return acos(x);
    case OPERATOR_ATAN:
        return atan(x);
    case OPERATOR_SINH:
        return sinh(x);
    case OPERATOR_COSH:
        return cosh(x);
    case OPERATOR_ASINH:
        return asinh(x);
    case OPERATOR_ACOSH:
        return acosh(x);
    case OPERATOR_ATANH:
        return atanh(x);
    case OPERATOR_SOFTSIGN:
        return x / (1 + fabs(x));
    case OPERATOR_MISH:
        return x * tanh(log1p(exp(x)));
    default:
        return NAN;
    }
}

/* Functions of one operand and no attributes. */
void reference_curve(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] = curve(call->operator_info->id, call->inputs[0].values[i]);
}

static double swish(double x, double alpha) { return x / (1 + exp(-alpha * x)); }

static double shrink(const ReferenceCall *call, double x) {
    double bias = attributes_float(call->attributes, "bias");
    double limit = attributes_float(call->attributes, "lambd");
    double y = x < -limit ? x + bias : x > limit ? x - bias : 0;
    return dtype_is_integer(call->inputs[0].dtype) ? trunc(y) : y;
}

/* Activations with attributes. */
void reference_gate(ReferenceCall *call) {
    const OperatorId id = call->operator_info->id;
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        double x = call->inputs[0].values[i], *y = &call->outputs[0].values[i];
        if (id == OPERATOR_SHRINK) {
            *y = shrink(call, x);
            continue;
        }
        double alpha = attributes_float(call->attributes, "alpha");
        if (id == OPERATOR_CELU) *y = fmax(0, x) + fmin(0, alpha * expm1(x / alpha));
        if (id == OPERATOR_SWISH) *y = swish(x, alpha);
        if (id == OPERATOR_SWIGLU) *y = swish(x, alpha) * call->inputs[1].values[i];
        if (id == OPERATOR_THRESHOLDED_RELU) *y = x > alpha ? x : 0;
    }
}

void reference_is_inf(ReferenceCall *call) {
    bool negative = attributes_int(call->attributes, "detect_negative") != 0;
    bool positive = attributes_int(call->attributes, "detect_positive") != 0;
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        double x = call->inputs[0].values[i];
        call->outputs[0].values[i] = isinf(x) && (x < 0 ? negative : positive);
    }
}

/* What an integer type holds of a whole number. */
static double wrap(DType dtype, double x) {
    const double span = ldexp(1, (int)dtype_bits(dtype));
    if (x >= 0 ? x < span / 2 : dtype_is_signed(dtype) && x >= -span / 2) return x;
    double y = x - floor(x / span) * span;
    return dtype_is_signed(dtype) && y >= span / 2 ? y - span : y;
}

void reference_bitwise_not(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] = wrap(call->outputs[0].dtype, -1 - call->inputs[0].values[i]);
}

void reference_bit_shift(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const bool left = strcmp(attributes_text(call->attributes, "direction"), "LEFT") == 0;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const double x = reference_broadcast(&call->inputs[0], &out->shape, index);
        const double by = reference_broadcast(&call->inputs[1], &out->shape, index);
        const bool gone = by < 0 || by >= dtype_bits(out->dtype);
        if (gone)
            out->values[i] = left || x >= 0 ? 0 : -1;
        else
            out->values[i] = left ? wrap(out->dtype, ldexp(x, (int)by)) : floor(ldexp(x, -(int)by));
    }
}

/* Swish i0 {alpha=0.5}; Shrink r0 {bias=0.25, lambd=0.5}; SwiGLU r1 i1; Atan r2 */
void reference_elementwise_gates(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        const double x = swish(call->inputs[0].values[i], 0.5);
        const double y = x < -0.5 ? x + 0.25 : x > 0.5 ? x - 0.25 : 0;
        call->outputs[0].values[i] = atan(swish(y, 1) * call->inputs[1].values[i]);
    }
}

/* BitShift i0 i1 {direction="LEFT"}; BitwiseNot r0; BitwiseXor r1 i1 */
void reference_elementwise_bits(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const double by = reference_broadcast(&call->inputs[1], &out->shape, index);
        const double x = wrap(out->dtype, ldexp(call->inputs[0].values[i], (int)by));
        const int64_t flipped = ~(int64_t)x ^ (int64_t)by;
        out->values[i] = wrap(out->dtype, (double)flipped);
    }
}
