#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

double reference_parameter(const ReferenceCall *call, uint32_t index) {
    const char *at = call->operator_info->attributes;
    for (uint32_t i = 0; i < index && at; i++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    char name[32];
    const size_t length = at ? strcspn(at, ":") : 0;
    if (length == 0 || length >= sizeof name || at[length + 1] != 'f') return 0;
    memcpy(name, at, length);
    name[length] = 0;
    return attributes_float(call->attributes, name);
}

static double swish(double x, double alpha) { return x / (1 + exp(-alpha * x)); }

static double shrink(const ReferenceCall *call, double x) {
    double bias = attributes_float(call->attributes, "bias");
    double limit = attributes_float(call->attributes, "lambd");
    double y = x < -limit ? x + bias : x > limit ? x - bias : 0;
    return dtype_is_integer(call->inputs[0].dtype) ? trunc(y) : y;
}

/* Shrink and SwiGLU. */
void reference_gate(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        double x = call->inputs[0].values[i], *y = &call->outputs[0].values[i];
        if (call->operator_info->id == OPERATOR_SHRINK) {
            *y = shrink(call, x);
            continue;
        }
        double alpha = attributes_float(call->attributes, "alpha");
        *y = swish(x, alpha) * call->inputs[1].values[i];
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
