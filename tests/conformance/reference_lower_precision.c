#include <math.h>
#include <string.h>

#include "tests/conformance/reference.h"

static float to_bfloat16(double x) {
    const float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t below = bits & 0xFFFF, upper = bits & 0xFFFF0000u;
    const int up = below > 0x8000 || (below == 0x8000 && (bits & 0x10000));
    float rounded;
    bits = up ? upper + 0x10000 : upper;
    memcpy(&rounded, &bits, sizeof rounded);
    return isnan(value) ? NAN : rounded;
}

/* Bias, residual, activation of the sums in the output. */
static void finish(ReferenceCall *call, uint32_t bias) {
    ReferenceTensor *out = &call->outputs[0];
    const int64_t columns = out->shape.dims[out->shape.rank - 1];
    for (int64_t i = 0; i < out->count; i++) {
        float x = (float)out->values[i];
        if (call->inputs[bias].present) x += (float)call->inputs[bias].values[i % columns];
        if (call->inputs[bias + 1].present) x += (float)call->inputs[bias + 1].values[i];
        out->values[i] = (double)x;
    }
    reference_activate(call);
}

void reference_matmul_bfloat16(ReferenceCall *call) {
    const ReferenceTensor *a = &call->inputs[0], *b = &call->inputs[1];
    ReferenceTensor *out = &call->outputs[0];
    const int64_t depth = b->shape.dims[0], columns = b->shape.dims[1];
    for (int64_t i = 0; i < out->count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += (double)to_bfloat16(a->values[i / columns * depth + k]) *
                   b->values[k * columns + i % columns];
        out->values[i] = sum;
    }
    finish(call, 2);
}

typedef struct Row {
    float inverse, step;
    double zero;
} Row;

static Row row_of(const double *values, int64_t depth) {
    float low = 0, high = 0;
    for (int64_t k = 0; k < depth; k++) {
        const float x = (float)values[k];
        if (!isfinite(x)) return (Row){0, NAN, 0};
        low = fminf(low, x);
        high = fmaxf(high, x);
    }
    float range = high - low;
    if (!isfinite(range)) return (Row){0, NAN, 0};
    range = fmaxf(range, 0x1p-100F);
    const float inverse = 255 / range;
    return (Row){inverse, range / 255, (double)rintf(-low * inverse)};
}

void reference_matmul_int8(ReferenceCall *call) {
    const ReferenceTensor *a = &call->inputs[0], *b = &call->inputs[1];
    ReferenceTensor *out = &call->outputs[0];
    const int64_t depth = b->shape.dims[0], columns = b->shape.dims[1];
    for (int64_t i = 0; i < out->count; i++) {
        const double *from = a->values + i / columns * depth;
        const Row row = row_of(from, depth);
        double sum = 0;
        for (int64_t k = 0; k < depth && row.step == row.step; k++) {
            const double byte = (double)rintf((float)from[k] * row.inverse) + row.zero;
            sum += (fmin(fmax(byte, 0), 255) - row.zero) * b->values[k * columns + i % columns];
        }
        const float scale = row.step * (float)call->inputs[2].values[i % columns];
        out->values[i] = (double)((float)sum * scale);
    }
    finish(call, 3);
}
