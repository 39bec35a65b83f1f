#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

enum { SPATIAL_MAX = SHAPE_RANK_MAX - 2 };

static void read_list(
    const Attributes *attributes, const char *name, uint32_t rank, int64_t fallback, int64_t *out) {
    uint32_t count;
    const int64_t *values = attributes_ints(attributes, name, &count);
    for (uint32_t i = 0; i < rank; i++) out[i] = values ? values[i] : fallback;
}

/* Linear interpolation in a plane; outside it is 0. */
static double interpolate(
    const double *plane, const Shape *shape, const double *x, uint32_t d, int64_t *at) {
    if (d == shape->rank) return plane[reference_flat(shape, at)];
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        at[d] = (int64_t)floor(x[d]) + k;
        const double weight = 1 - fabs(x[d] - (double)at[d]);
        if (weight > 0 && at[d] >= 0 && at[d] < shape->dims[d])
            sum += weight * interpolate(plane, shape, x, d + 1, at);
    }
    return sum;
}

/* The four neighbours of a sample, weighted, their sum or their maximum. */
static double sample_region(
    const double *plane, const Shape *shape, double y, double x, bool is_max) {
    const double height = (double)shape->dims[0], width = (double)shape->dims[1];
    double sum = 0, most = -INFINITY;
    if (y < -1 || y > height || x < -1 || x > width) return 0;
    y = fmin(fmax(y, 0), height - 1);
    x = fmin(fmax(x, 0), width - 1);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const double down = y - floor(y), across = x - floor(x);
            const int64_t at[2] = {
                (int64_t)fmin(floor(y) + i, height - 1), (int64_t)fmin(floor(x) + j, width - 1)};
            const double value = (i ? down : 1 - down) * (j ? across : 1 - across) *
                                 plane[reference_flat(shape, at)];
            sum += value;
            most = fmax(most, value);
        }
    return is_max ? most : sum;
}

void reference_roi_align(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    const Attributes *a = call->attributes;
    const bool is_max = strcmp(attributes_text(a, "mode"), "max") == 0;
    const bool shifted =
        strcmp(attributes_text(a, "coordinate_transformation_mode"), "half_pixel") == 0;
    const Shape shape = shape_make(2, x->shape.dims + 2);
    int64_t index[4] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const double *roi = call->inputs[1].values + index[0] * 4;
        const double *plane =
            x->values + ((int64_t)call->inputs[2].values[index[0]] * x->shape.dims[1] + index[1]) *
                            shape_count_unchecked(&shape);
        double start[2], size[2], count[2], total = 0;
        for (int d = 0; d < 2; d++) {
            const double scale = attributes_float(a, "spatial_scale"), shift = shifted ? 0.5 : 0;
            start[d] = roi[1 - d] * scale - shift;
            size[d] = roi[3 - d] * scale - shift - start[d];
            if (!shifted) size[d] = fmax(size[d], 1);
            size[d] /= (double)out->shape.dims[2 + d];
            count[d] = (double)attributes_int(a, "sampling_ratio");
            if (count[d] == 0) count[d] = ceil(size[d]);
        }
        for (int64_t p = 0; p < (int64_t)(count[0] * count[1]); p++) {
            const double row = (double)(p / (int64_t)count[1]);
            const double column = (double)(p % (int64_t)count[1]);
            const double value = sample_region(plane, &shape,
                start[0] + size[0] * ((double)index[2] + (row + 0.5) / count[0]),
                start[1] + size[1] * ((double)index[3] + (column + 0.5) / count[1]), is_max);
            total = is_max && p > 0 ? fmax(total, value) : is_max ? value : total + value;
        }
        out->values[i] = is_max ? total : total / fmax(count[0] * count[1], 1);
    }
}

void reference_max_roi_pool(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    const double scale = attributes_float(call->attributes, "spatial_scale");
    int64_t index[4] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const double *roi = call->inputs[1].values + index[0] * 5;
        double low[2], high[2], most = -INFINITY;
        for (int d = 0; d < 2; d++) {
            const double start = round(roi[2 - d] * scale), end = round(roi[4 - d] * scale);
            const double bin = fmax(end - start + 1, 1) / (double)out->shape.dims[2 + d];
            const double at = (double)index[2 + d], last = (double)x->shape.dims[2 + d];
            low[d] = fmin(fmax(start + floor(at * bin), 0), last);
            high[d] = fmin(fmax(start + ceil((at + 1) * bin), 0), last);
        }
        for (double h = low[0]; h < high[0]; h++)
            for (double w = low[1]; w < high[1]; w++) {
                const int64_t at[4] = {(int64_t)roi[0], index[1], (int64_t)h, (int64_t)w};
                most = fmax(most, x->values[reference_flat(&x->shape, at)]);
            }
        out->values[i] = most == -INFINITY ? 0 : most;
    }
}

static double box_overlap(const double *a, const double *b, bool center) {
    double shared = 1, all = 0, areas[2] = {1, 1};
    for (int d = 0; d < 2; d++) {
        double low[2], high[2];
        for (int k = 0; k < 2; k++) {
            const double *box = k ? b : a;
            low[k] = center ? box[d] - box[2 + d] / 2 : fmin(box[d], box[2 + d]);
            high[k] = center ? box[d] + box[2 + d] / 2 : fmax(box[d], box[2 + d]);
            areas[k] *= high[k] - low[k];
        }
        shared *= fmax(0, fmin(high[0], high[1]) - fmax(low[0], low[1]));
    }
    all = areas[0] + areas[1] - shared;
    return all > 0 ? shared / all : 0;
}

/* Again and again the best box that is left. */
void reference_non_max_suppression(ReferenceCall *call) {
    const ReferenceTensor *boxes = &call->inputs[0], *scores = &call->inputs[1];
    const ReferenceTensor *limit = &call->inputs[2], *overlap = &call->inputs[3];
    const ReferenceTensor *threshold = &call->inputs[4];
    const bool center = attributes_int(call->attributes, "center_point_box") != 0;
    const int64_t count = boxes->shape.dims[1], classes = scores->shape.dims[1];
    double *to = call->outputs[0].values;
    for (int64_t unit = 0; unit < scores->count / count; unit++) {
        bool left[64];
        const double *own = boxes->values + unit / classes * count * 4;
        for (int64_t i = 0; i < count; i++)
            left[i] =
                !threshold->present || scores->values[unit * count + i] > threshold->values[0];
        for (int64_t kept = 0; limit->present && kept < (int64_t)limit->values[0]; kept++) {
            int64_t best = -1;
            for (int64_t i = 0; i < count; i++)
                if (left[i] && (best < 0 || scores->values[unit * count + i] >
                                                scores->values[unit * count + best]))
                    best = i;
            if (best < 0) break;
            for (int64_t i = 0; i < count; i++)
                if (i == best || box_overlap(own + best * 4, own + i * 4, center) >
                                     (overlap->present ? overlap->values[0] : 0))
                    left[i] = false;
            *to++ = (double)(unit / classes);
            *to++ = (double)(unit % classes);
            *to++ = (double)best;
        }
    }
}

void reference_max_unpool(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    for (int64_t i = 0; i < out->count; i++) out->values[i] = 0;
    for (int64_t i = 0; i < x->count; i++)
        out->values[(int64_t)call->inputs[1].values[i]] = x->values[i];
}

void reference_col_2_im(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    const uint32_t rank = out->shape.rank - 2;
    int64_t strides[SPATIAL_MAX], pads[2 * SPATIAL_MAX], dilations[SPATIAL_MAX];
    Shape block = {.rank = rank}, blocks = {.rank = rank};
    read_list(call->attributes, "strides", rank, 1, strides);
    read_list(call->attributes, "pads", 2 * rank, 0, pads);
    read_list(call->attributes, "dilations", rank, 1, dilations);
    for (uint32_t d = 0; d < rank; d++) {
        block.dims[d] = (int64_t)call->inputs[2].values[d];
        const int64_t room = out->shape.dims[2 + d] + pads[d] + pads[rank + d];
        blocks.dims[d] = (room - (block.dims[d] - 1) * dilations[d] - 1) / strides[d] + 1;
    }
    const int64_t taps = shape_count_unchecked(&block), count = shape_count_unchecked(&blocks);
    for (int64_t i = 0; i < out->count; i++) out->values[i] = 0;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t tap = i / count % taps, at = i % count, to[SHAPE_RANK_MAX];
        const int64_t plane = i / count / taps;
        bool inside = true;
        to[0] = plane / out->shape.dims[1];
        to[1] = plane % out->shape.dims[1];
        for (uint32_t d = rank; d-- > 0; tap /= block.dims[d], at /= blocks.dims[d]) {
            to[2 + d] =
                at % blocks.dims[d] * strides[d] + tap % block.dims[d] * dilations[d] - pads[d];
            inside = inside && to[2 + d] >= 0 && to[2 + d] < out->shape.dims[2 + d];
        }
        if (inside) out->values[reference_flat(&out->shape, to)] += x->values[i];
    }
}

/* The sum of one output, over all taps and channels of its group. */
static double deform_at(const ReferenceCall *call, const int64_t *index) {
    const ReferenceTensor *x = &call->inputs[0], *w = &call->inputs[1];
    const ReferenceTensor *offsets = &call->inputs[2], *mask = &call->inputs[4];
    const Shape shape = shape_make(x->shape.rank - 2, x->shape.dims + 2);
    const Shape kernel = shape_make(shape.rank, w->shape.dims + 2);
    const int64_t taps = shape_count_unchecked(&kernel), depth = w->shape.dims[1];
    const int64_t group = attributes_int(call->attributes, "group");
    const int64_t offset_group = attributes_int(call->attributes, "offset_group");
    const int64_t first = index[1] / (w->shape.dims[0] / group) * depth;
    int64_t strides[SPATIAL_MAX], pads[SPATIAL_MAX], dilations[SPATIAL_MAX];
    read_list(call->attributes, "strides", shape.rank, 1, strides);
    read_list(call->attributes, "pads", shape.rank, 0, pads);
    read_list(call->attributes, "dilations", shape.rank, 1, dilations);
    double sum = call->inputs[3].present ? call->inputs[3].values[index[1]] : 0;
    for (int64_t i = 0; i < depth * taps; i++) {
        const int64_t c = first + i / taps;
        const int64_t own = c / (x->shape.dims[1] / offset_group) * taps + i % taps;
        double at[SPATIAL_MAX];
        int64_t tap = i % taps, place[SHAPE_RANK_MAX], scratch[SPATIAL_MAX];
        memcpy(place, index, sizeof place);
        for (uint32_t d = shape.rank; d-- > 0; tap /= kernel.dims[d]) {
            place[1] = own * shape.rank + d;
            at[d] = (double)(index[2 + d] * strides[d] - pads[d] +
                             tap % kernel.dims[d] * dilations[d]) +
                    offsets->values[reference_flat(&offsets->shape, place)];
        }
        place[1] = own;
        double factor = w->values[index[1] * depth * taps + i];
        if (mask->present) factor *= mask->values[reference_flat(&mask->shape, place)];
        const double *plane =
            x->values + (index[0] * x->shape.dims[1] + c) * shape_count_unchecked(&shape);
        sum += factor * interpolate(plane, &shape, at, 0, scratch);
    }
    return sum;
}

void reference_deform_conv(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index))
        out->values[i] = deform_at(call, index);
}

void reference_global_lp_pool(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const int64_t plane = call->inputs[0].count / (out->count ? out->count : 1);
    const double p = (double)attributes_int(call->attributes, "p");
    for (int64_t i = 0; i < out->count; i++) {
        double sum = 0;
        for (int64_t j = 0; j < plane; j++)
            sum += pow(fabs(call->inputs[0].values[i * plane + j]), p);
        out->values[i] = pow(sum, 1 / p);
    }
}
