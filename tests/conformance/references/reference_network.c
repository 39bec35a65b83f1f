#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

enum { SPATIAL_MAX = SHAPE_RANK_MAX - 2 };

/* Stride, dilation and the padding in front, from attributes and the shapes alone. */
typedef struct Geometry {
    uint32_t rank;
    Shape kernel, output, input;
    int64_t stride[SPATIAL_MAX], dilation[SPATIAL_MAX], before[SPATIAL_MAX];
} Geometry;

static void read_list(
    const Attributes *attributes, const char *name, uint32_t rank, int64_t fallback, int64_t *out) {
    uint32_t count;
    const int64_t *values = attributes_ints(attributes, name, &count);
    for (uint32_t i = 0; i < rank; i++) out[i] = values ? values[i] : fallback;
}

static Shape spatial(const Shape *shape) { return shape_make(shape->rank - 2, shape->dims + 2); }

static Geometry geometry(const ReferenceCall *call, const Shape *kernel) {
    const Attributes *attributes = call->attributes;
    Geometry g = {.kernel = *kernel,
        .output = spatial(&call->outputs[0].shape),
        .input = spatial(&call->inputs[0].shape)};
    g.rank = g.input.rank;
    read_list(attributes, "strides", g.rank, 1, g.stride);
    read_list(attributes, "dilations", g.rank, 1, g.dilation);
    read_list(attributes, "pads", g.rank, 0, g.before);
    const char *auto_pad = attributes_text(attributes, "auto_pad");
    for (uint32_t i = 0; strncmp(auto_pad, "SAME", 4) == 0 && i < g.rank; i++) {
        int64_t total = (g.output.dims[i] - 1) * g.stride[i] +
                        (g.kernel.dims[i] - 1) * g.dilation[i] + 1 - g.input.dims[i];
        if (total < 0) total = 0;
        g.before[i] = strcmp(auto_pad, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
    }
    return g;
}

/* Flat input position under output `at` and kernel position `k`; -1 in the padding. */
static int64_t source(const Geometry *g, const int64_t *at, const int64_t *k) {
    int64_t index[SPATIAL_MAX] = {0};
    for (uint32_t i = 0; i < g->rank; i++) {
        index[i] = at[i] * g->stride[i] - g->before[i] + k[i] * g->dilation[i];
        if (index[i] < 0 || index[i] >= g->input.dims[i]) return -1;
    }
    return reference_flat(&g->input, index);
}

static double conv_at(const ReferenceCall *call, const Geometry *g, int64_t batch, int64_t channel,
    const int64_t *at) {
    const ReferenceTensor *x = &call->inputs[0], *w = &call->inputs[1], *b = &call->inputs[2];
    int64_t group = attributes_int(call->attributes, "group");
    int64_t depth = w->shape.dims[1], first = channel / (w->shape.dims[0] / group) * depth;
    int64_t plane = shape_count_unchecked(&g->input), taps = shape_count_unchecked(&g->kernel);
    double sum = b->present ? b->values[channel] : 0;
    for (int64_t c = 0; c < depth; c++) {
        int64_t k[SPATIAL_MAX] = {0};
        for (int64_t t = 0; t < taps; t++, (void)reference_next(&g->kernel, k)) {
            int64_t from = source(g, at, k);
            if (from < 0) continue;
            sum += x->values[(batch * x->shape.dims[1] + first + c) * plane + from] *
                   w->values[(channel * depth + c) * taps + t];
        }
    }
    return sum;
}

void reference_conv(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    Shape kernel = spatial(&call->inputs[1].shape);
    Geometry g = geometry(call, &kernel);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index))
        out->values[i] = conv_at(call, &g, index[0], index[1], index + 2);
}

/* Every input element is added, times the kernel, to where it goes. */
void reference_conv_transpose(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0], *w = &call->inputs[1], *b = &call->inputs[2];
    ReferenceTensor *out = &call->outputs[0];
    Shape kernel = spatial(&w->shape);
    Geometry g = geometry(call, &kernel);
    int64_t group = attributes_int(call->attributes, "group");
    int64_t outs = w->shape.dims[1], ins = x->shape.dims[1] / group;
    int64_t plane = shape_count_unchecked(&g.output), taps = shape_count_unchecked(&kernel);
    for (int64_t i = 0; i < out->count; i++)
        out->values[i] = b->present ? b->values[i / plane % out->shape.dims[1]] : 0;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->count; i++, (void)reference_next(&x->shape, index)) {
        int64_t k[SPATIAL_MAX] = {0};
        for (int64_t t = 0; t < taps; t++, (void)reference_next(&kernel, k)) {
            int64_t to[SPATIAL_MAX] = {0};
            bool inside = true;
            for (uint32_t d = 0; d < g.rank; d++) {
                to[d] = index[2 + d] * g.stride[d] + k[d] * g.dilation[d] - g.before[d];
                inside = inside && to[d] >= 0 && to[d] < g.output.dims[d];
            }
            for (int64_t m = 0; inside && m < outs; m++) {
                int64_t channel = index[1] / ins * outs + m;
                out->values[(index[0] * out->shape.dims[1] + channel) * plane +
                            reference_flat(&g.output, to)] +=
                    x->values[i] * w->values[(index[1] * outs + m) * taps + t];
            }
        }
    }
}

static Shape kernel_shape(const ReferenceCall *call) {
    uint32_t count;
    const int64_t *dims = attributes_ints(call->attributes, "kernel_shape", &count);
    return shape_make(count, dims);
}

void reference_max_pool(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    Shape kernel = kernel_shape(call);
    Geometry g = geometry(call, &kernel);
    int64_t plane = shape_count_unchecked(&g.input), index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t base = (index[0] * out->shape.dims[1] + index[1]) * plane, best = -1;
        int64_t k[SPATIAL_MAX] = {0};
        for (int64_t t = 0; t < shape_count_unchecked(&kernel); t++) {
            int64_t from = source(&g, index + 2, k);
            const double *values = call->inputs[0].values + base;
            if (from >= 0 && (best < 0 || values[from] > values[best])) best = from;
            (void)reference_next(&kernel, k);
        }
        out->values[i] = call->inputs[0].values[base + best];
        if (call->output_count > 1) call->outputs[1].values[i] = (double)(base + best);
    }
}

/* With count_include_pad the padding counts, but not what ceil_mode reaches behind it. */
static int64_t padded_taps(const Geometry *g, const int64_t *at, const int64_t *after) {
    int64_t count = 1;
    for (uint32_t d = 0; d < g->rank; d++) {
        int64_t inside = 0;
        for (int64_t k = 0; k < g->kernel.dims[d]; k++) {
            int64_t from = at[d] * g->stride[d] + k * g->dilation[d] - g->before[d];
            inside += from < g->input.dims[d] + after[d];
        }
        count *= inside;
    }
    return count;
}

void reference_average_pool(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    Shape kernel = kernel_shape(call);
    Geometry g = geometry(call, &kernel);
    int64_t pads[2 * SPATIAL_MAX];
    read_list(call->attributes, "pads", 2 * g.rank, 0, pads);
    bool include = attributes_int(call->attributes, "count_include_pad") != 0;
    int64_t plane = shape_count_unchecked(&g.input), index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t base = (index[0] * out->shape.dims[1] + index[1]) * plane, count = 0;
        int64_t k[SPATIAL_MAX] = {0};
        double sum = 0;
        for (int64_t t = 0; t < shape_count_unchecked(&kernel); t++) {
            int64_t from = source(&g, index + 2, k);
            if (from >= 0) sum += call->inputs[0].values[base + from];
            count += from >= 0;
            (void)reference_next(&kernel, k);
        }
        if (include) count = padded_taps(&g, index + 2, pads + g.rank);
        out->values[i] = sum / (double)count;
    }
}

void reference_lp_pool(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    Shape kernel = kernel_shape(call);
    Geometry g = geometry(call, &kernel);
    double p = (double)attributes_int(call->attributes, "p");
    int64_t plane = shape_count_unchecked(&g.input), index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t base = (index[0] * out->shape.dims[1] + index[1]) * plane, k[SPATIAL_MAX] = {0};
        double sum = 0;
        for (int64_t t = 0; t < shape_count_unchecked(&kernel); t++) {
            int64_t from = source(&g, index + 2, k);
            if (from >= 0) sum += pow(fabs(call->inputs[0].values[base + from]), p);
            (void)reference_next(&kernel, k);
        }
        out->values[i] = pow(sum, 1 / p);
    }
}

void reference_global_pool(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    if (out->count == 0) return;
    int64_t plane = call->inputs[0].count / out->count;
    for (int64_t i = 0; i < out->count; i++) {
        const double *from = call->inputs[0].values + i * plane;
        double sum = 0, high = -INFINITY;
        for (int64_t j = 0; j < plane; j++) {
            sum += from[j];
            high = fmax(high, from[j]);
        }
        bool average = call->operator_info->id == OPERATOR_GLOBAL_AVERAGE_POOL;
        out->values[i] = average ? sum / (double)plane : high;
    }
}

void reference_batch_normalization(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    double epsilon = attributes_float(call->attributes, "epsilon");
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t c = index[1];
        double x = call->inputs[0].values[i] - call->inputs[3].values[c];
        out->values[i] = x / sqrt(call->inputs[4].values[c] + epsilon) * call->inputs[1].values[c] +
                         call->inputs[2].values[c];
    }
}

static void moments(const double *from, int64_t count, double *out_mean, double *out_square) {
    double sum = 0, square = 0;
    for (int64_t i = 0; i < count; i++) sum += from[i];
    *out_mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) square += (from[i] - *out_mean) * (from[i] - *out_mean);
    *out_square = square / (double)count;
}

/* LayerNormalization and RMSNormalization. */
void reference_layer_normalization(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), x->shape.rank);
    int64_t width = shape_product(&x->shape, axis, x->shape.rank);
    double epsilon = attributes_float(call->attributes, "epsilon");
    bool root = call->operator_info->id == OPERATOR_RMS_NORMALIZATION;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t row = 0; row < x->count / width; row++) {
        double mean, square;
        moments(x->values + row * width, width, &mean, &square);
        if (root) square += mean * mean;
        if (root) mean = 0;
        double scale = 1 / sqrt(square + epsilon);
        for (int64_t i = row * width; i < (row + 1) * width; i++) {
            double y = (x->values[i] - mean) * scale;
            y *= reference_broadcast(&call->inputs[1], &x->shape, index);
            if (call->inputs[2].present)
                y += reference_broadcast(&call->inputs[2], &x->shape, index);
            call->outputs[0].values[i] = y;
            (void)reference_next(&x->shape, index);
        }
        if (call->output_count > 1) call->outputs[1].values[row] = mean;
        if (call->output_count > 2) call->outputs[2].values[row] = scale;
    }
}

void reference_instance_normalization(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    int64_t channels = x->shape.dims[1], planes = x->shape.dims[0] * channels;
    int64_t plane = x->count / planes;
    for (int64_t p = 0; p < planes; p++) {
        double mean, square;
        moments(x->values + p * plane, plane, &mean, &square);
        double scale = 1 / sqrt(square + attributes_float(call->attributes, "epsilon"));
        for (int64_t i = p * plane; i < (p + 1) * plane; i++)
            call->outputs[0].values[i] =
                (x->values[i] - mean) * scale * call->inputs[1].values[p % channels] +
                call->inputs[2].values[p % channels];
    }
}

void reference_lrn(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    const Attributes *a = call->attributes;
    int64_t size = attributes_int(a, "size"), channels = x->shape.dims[1];
    int64_t plane = shape_product(&x->shape, 2, x->shape.rank);
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->count; i++, (void)reference_next(&x->shape, index)) {
        double square = 0;
        for (int64_t c = index[1] - (size - 1) / 2; c <= index[1] + size / 2; c++) {
            if (c < 0 || c >= channels) continue;
            double value = x->values[i + (c - index[1]) * plane];
            square += value * value;
        }
        double base =
            attributes_float(a, "bias") + attributes_float(a, "alpha") / (double)size * square;
        call->outputs[0].values[i] = x->values[i] / pow(base, attributes_float(a, "beta"));
    }
}
