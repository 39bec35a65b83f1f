#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

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

/* A block of a row as whole numbers of its step. */
static void round_block(const double *from, int64_t count, float *to) {
    float largest = 0, finite = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmaxf(largest, fabsf((float)from[i]));
        finite += (float)from[i] - (float)from[i];
    }
    const bool is_large = largest >= 0x1p-100F;
    const float inverse = is_large ? 127 / largest : 0, step = is_large ? largest / 127 : 0;
    for (int64_t i = 0; i < count; i++)
        to[i] = finite == 0 ? rintf((float)from[i] * inverse) * step : NAN;
}

/* A weight before its scale. */
static double block_code(ReferenceCall *call, int64_t element, int64_t block) {
    const double code = call->inputs[1].values[element];
    if (call->inputs[5].present) return call->inputs[5].values[(int64_t)code];
    return call->inputs[3].present ? code - call->inputs[3].values[block] : code;
}

void reference_matmul_blocks(ReferenceCall *call) {
    enum { BLOCK_MAX = 512 };
    const ReferenceTensor *a = &call->inputs[0], *codes = &call->inputs[1];
    const ReferenceTensor *scales = &call->inputs[2], *bias = &call->inputs[4];
    ReferenceTensor *out = &call->outputs[0];
    const int64_t columns = codes->shape.dims[0], depth = codes->shape.dims[1];
    const int64_t block = attributes_int(call->attributes, "block_size");
    const bool in_bytes = attributes_int(call->attributes, "activation_bits") == 8;
    for (int64_t i = 0; i < out->count; i++) {
        double sum = bias->present ? bias->values[i % columns] : 0;
        for (int64_t first = 0; first < depth; first += block) {
            const int64_t at = i % columns * scales->shape.dims[1] + first / block;
            const int64_t count = depth - first < block ? depth - first : block;
            const double *from = a->values + i / columns * depth + first;
            float rounded[BLOCK_MAX];
            if (in_bytes) round_block(from, count, rounded);
            for (int64_t k = 0; k < count; k++) {
                const double code = block_code(call, i % columns * depth + first + k, at);
                const float weight = (float)code * (float)scales->values[at];
                sum += (in_bytes ? (double)rounded[k] : from[k]) * (double)weight;
            }
        }
        out->values[i] = sum;
    }
}

typedef struct Row {
    float inverse, step;
    double zero;
} Row;

static Row row_of(const double *values, int64_t depth) {
    float low = 0, high = 0;
    for (int64_t k = 0; k < depth; k++) {
        const float x = (float)values[k];
        if (!isfinite(x)) continue;
        low = fminf(low, x);
        high = fmaxf(high, x);
    }
    const double range = fmax((double)high - (double)low, 0x1p-100);
    const float half = (float)(range / 2), inverse = 127.5F / half;
    return (Row){inverse, half / 127.5F, (double)rintf(-low * inverse)};
}

/* An element as it is multiplied: a byte less its zero, or what has none. */
static double as_byte(const Row *row, double x) {
    if (!isfinite(x)) return x;
    const double byte = (double)rintf((float)x * row->inverse) + row->zero;
    return fmin(fmax(byte, 0), 255) - row->zero;
}

void reference_matmul_int8(ReferenceCall *call) {
    const ReferenceTensor *a = &call->inputs[0], *b = &call->inputs[1];
    ReferenceTensor *out = &call->outputs[0];
    const int64_t depth = b->shape.dims[0], columns = b->shape.dims[1];
    for (int64_t i = 0; i < out->count; i++) {
        const double *from = a->values + i / columns * depth;
        const Row row = row_of(from, depth);
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += as_byte(&row, from[k]) * b->values[k * columns + i % columns];
        const float scale = row.step * (float)call->inputs[2].values[i % columns];
        out->values[i] = (double)((float)sum * scale);
    }
    finish(call, 3);
}

/* ---- images [N, H, W, C] ---- */

static int64_t setting(const ReferenceCall *call, const char *name, uint32_t i, int64_t otherwise) {
    uint32_t count;
    const int64_t *values = attributes_ints(call->attributes, name, &count);
    return values && i < count ? values[i] : otherwise;
}

/* An element as it is multiplied. */
typedef double Lowered(const Row *row, double x);

static double as_bfloat16(const Row *row, double x) {
    (void)row;
    return (double)to_bfloat16(x);
}

static double window_sum(
    const ReferenceCall *call, Lowered *lowered, const Row *row, const int64_t *at) {
    const ReferenceTensor *x = &call->inputs[0], *w = &call->inputs[1];
    const int64_t *image = x->shape.dims, *kernel = w->shape.dims;
    double sum = 0;
    for (int64_t i = 0; i < kernel[2]; i++)
        for (int64_t j = 0; j < kernel[3]; j++) {
            const int64_t h = at[1] * setting(call, "strides", 0, 1) +
                              i * setting(call, "dilations", 0, 1) - setting(call, "pads", 0, 0);
            const int64_t v = at[2] * setting(call, "strides", 1, 1) +
                              j * setting(call, "dilations", 1, 1) - setting(call, "pads", 1, 0);
            if (h < 0 || h >= image[1] || v < 0 || v >= image[2]) continue;
            for (int64_t c = 0; c < image[3]; c++)
                sum += lowered(
                           row, x->values[((at[0] * image[1] + h) * image[2] + v) * image[3] + c]) *
                       w->values[((at[3] * kernel[1] + c) * kernel[2] + i) * kernel[3] + j];
        }
    return sum;
}

void reference_conv_bfloat16(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index))
        out->values[i] = window_sum(call, as_bfloat16, NULL, index);
    finish(call, 2);
}

void reference_conv_int8(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const int64_t image = x->count / x->shape.dims[0];
        const Row row = row_of(x->values + index[0] * image, image);
        const float sum = (float)window_sum(call, as_byte, &row, index);
        out->values[i] = (double)(sum * (row.step * (float)call->inputs[2].values[index[3]]));
    }
    finish(call, 3);
}
