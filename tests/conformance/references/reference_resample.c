#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

enum { TAPS_MAX = 256, SPATIAL_MAX = SHAPE_RANK_MAX - 2 };

static bool is_text(const ReferenceCall *call, const char *name, const char *text) {
    return strcmp(attributes_text(call->attributes, name), text) == 0;
}

/* Along one axis: which elements, and how much of each. count -1: outside. */
typedef struct Taps {
    int count;
    int64_t at[TAPS_MAX];
    double weight[TAPS_MAX];
} Taps;

typedef struct Axis {
    double in, out, up, down, length, start, end; /* up / down is the scale */
} Axis;

static void read_axes(const ReferenceCall *call, Axis *out) {
    const ReferenceTensor *x = &call->inputs[0], *roi = &call->inputs[1];
    const ReferenceTensor *scales = &call->inputs[2], *sizes = &call->inputs[3];
    const uint32_t rank = x->shape.rank;
    uint32_t given;
    const int64_t *axes = attributes_ints(call->attributes, "axes", &given);
    const uint32_t count = axes ? given : rank;
    const bool scaled = scales->present && scales->count;
    Axis common = {0};
    for (uint32_t d = 0; d < rank; d++) {
        const double in = (double)x->shape.dims[d];
        out[d] = (Axis){in, (double)call->outputs[0].shape.dims[d], 1, 1, in, 0, 1};
    }
    for (uint32_t i = 0; i < count; i++) {
        Axis *axis = &out[axes ? reference_axis(axes[i], rank) : i];
        if (is_text(call, "coordinate_transformation_mode", "tf_crop_and_resize")) {
            axis->start = roi->values[i];
            axis->end = roi->values[count + i];
        }
        axis->up = scaled ? scales->values[i] : sizes->values[i];
        axis->down = scaled ? 1 : axis->in;
        const bool larger = is_text(call, "keep_aspect_ratio_policy", "not_smaller");
        const double more = axis->up * common.down - common.up * axis->down;
        if (i == 0 || (larger ? more > 0 : more < 0)) common = *axis;
    }
    for (uint32_t i = 0; i < count; i++) {
        Axis *axis = &out[axes ? reference_axis(axes[i], rank) : i];
        if (!is_text(call, "keep_aspect_ratio_policy", "stretch")) {
            axis->up = common.up;
            axis->down = common.down;
        }
        axis->length = axis->up * axis->in / axis->down;
        if (scaled) axis->length *= axis->end - axis->start;
    }
}

static double coordinate(const ReferenceCall *call, const Axis *axis, double x) {
    static const char mode[] = "coordinate_transformation_mode";
    const double half = (2 * x + 1) * axis->down / (2 * axis->up) - 0.5;
    const bool stays = axis->in == axis->out && axis->up == axis->down;
    if (is_text(call, mode, "asymmetric")) return x * axis->down / axis->up;
    if (is_text(call, mode, "tf_half_pixel_for_nn")) return stays ? x : half + 0.5;
    if (is_text(call, mode, "pytorch_half_pixel")) return axis->out > 1 ? half : 0;
    if (is_text(call, mode, "align_corners"))
        return axis->length == 1 ? 0 : x * (axis->in - 1) / (axis->length - 1);
    if (is_text(call, mode, "half_pixel_symmetric"))
        return (axis->in - 1 + (2 * x + 1 - axis->out) * axis->down / axis->up) / 2;
    if (!is_text(call, mode, "tf_crop_and_resize")) return half;
    const double last = axis->in - 1;
    if (axis->length == 1) return 0.5 * (axis->start + axis->end) * last;
    return axis->start * last + x * (axis->end - axis->start) * last / (axis->length - 1);
}

static double cubic(double a, double x) {
    if (x <= 1) return (a + 2) * pow(x, 3) - (a + 3) * pow(x, 2) + 1;
    return x < 2 ? a * pow(x, 3) - 5 * a * pow(x, 2) + 8 * a * x - 4 * a : 0;
}

static int64_t inside(double at, double in) {
    return (int64_t)(at < 0 ? 0 : at > in - 1 ? in - 1 : at);
}

static double nearest(const ReferenceCall *call, double x) {
    if (is_text(call, "nearest_mode", "floor")) return floor(x);
    if (is_text(call, "nearest_mode", "ceil")) return ceil(x);
    if (is_text(call, "nearest_mode", "round_prefer_ceil")) return floor(x + 0.5);
    return ceil(x - 0.5);
}

static void taps_of(const ReferenceCall *call, const Axis *axis, int64_t index, Taps *out) {
    const double x = coordinate(call, axis, (double)index);
    const bool crops = is_text(call, "coordinate_transformation_mode", "tf_crop_and_resize");
    out->count = crops && (x < 0 || x > axis->in - 1) ? -1 : 0;
    if (out->count < 0) return;
    if (is_text(call, "mode", "nearest")) {
        *out = (Taps){1, {inside(nearest(call, x), axis->in)}, {1}};
        return;
    }
    const bool antialias = attributes_int(call->attributes, "antialias") != 0;
    const double stretch = antialias && axis->up < axis->down ? axis->up / axis->down : 1;
    double total = 0;
    for (double at = floor(x) - 64; at <= floor(x) + 64; at++) {
        double weight = fabs(at - x) * stretch;
        weight = is_text(call, "mode", "linear")
                     ? fmax(0, 1 - weight)
                     : cubic(attributes_float(call->attributes, "cubic_coeff_a"), weight);
        if (attributes_int(call->attributes, "exclude_outside") && (at < 0 || at > axis->in - 1))
            weight = 0;
        if (weight == 0) continue;
        out->at[out->count] = inside(at, axis->in);
        out->weight[out->count++] = weight;
        total += weight;
    }
    for (int i = 0; i < out->count; i++) out->weight[i] /= total;
}

/* The sum over the taps of all axes from `d` on. */
static double gather(
    const ReferenceTensor *x, const Taps *taps, uint32_t d, int64_t base, const int64_t *strides) {
    if (d == x->shape.rank) return x->values[base];
    double sum = 0;
    for (int i = 0; i < taps[d].count; i++)
        sum +=
            taps[d].weight[i] * gather(x, taps, d + 1, base + taps[d].at[i] * strides[d], strides);
    return sum;
}

/* Rounded half to even, and within the type's limits. */
static double to_integer(DType dtype, double value) {
    const bool is_signed = dtype_is_signed(dtype);
    const double range = exp2((double)dtype_bits(dtype) - is_signed);
    return fmin(fmax(rint(value), is_signed ? -range : 0), range - 1);
}

void reference_resize(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    Axis axes[SHAPE_RANK_MAX];
    int64_t index[SHAPE_RANK_MAX] = {0}, strides[SHAPE_RANK_MAX];
    static Taps taps[SHAPE_RANK_MAX];
    read_axes(call, axes);
    shape_strides(&x->shape, strides);
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        bool outside = false;
        for (uint32_t d = 0; d < x->shape.rank; d++) {
            taps_of(call, &axes[d], index[d], &taps[d]);
            outside = outside || taps[d].count < 0;
        }
        double value = attributes_float(call->attributes, "extrapolation_value");
        if (!outside) value = gather(x, taps, 0, 0, strides);
        out->values[i] = dtype_is_integer(out->dtype) ? to_integer(out->dtype, value) : value;
    }
}

typedef struct Sampling {
    const ReferenceCall *call;
    const double *plane;
    Shape shape;
    bool corners;
} Sampling;

static double bounce(double x, double low, double high) {
    if (high <= low) return low;
    while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
    return x;
}

/* The element at these indices, wherever they are. */
static double pixel(const Sampling *s, const int64_t *at) {
    int64_t index[SPATIAL_MAX] = {0};
    const double edge = s->corners ? 0 : 0.5;
    for (uint32_t d = 0; d < s->shape.rank; d++) {
        const double last = (double)s->shape.dims[d] - 1;
        double x = (double)at[d];
        if ((x < 0 || x > last) && is_text(s->call, "padding_mode", "zeros")) return 0;
        if (is_text(s->call, "padding_mode", "reflection")) x = bounce(x, -edge, last + edge);
        index[d] = inside(x, last + 1);
    }
    return s->plane[reference_flat(&s->shape, index)];
}

static double sample(const Sampling *s, const double *x, uint32_t d, int64_t *at) {
    if (d == s->shape.rank) return pixel(s, at);
    const double below = floor(x[d]), rest = x[d] - below;
    double sum = 0;
    for (int k = -1; k <= 2; k++) {
        double weight = k == 0;
        if (is_text(s->call, "mode", "linear")) weight = fmax(0, 1 - fabs(k - rest));
        if (is_text(s->call, "mode", "cubic")) weight = cubic(-0.75, fabs(k - rest));
        at[d] = (int64_t)below + k;
        if (weight != 0) sum += weight * sample(s, x, d + 1, at);
    }
    return sum;
}

void reference_grid_sample(ReferenceCall *call) {
    const ReferenceTensor *image = &call->inputs[0], *grid = &call->inputs[1];
    ReferenceTensor *out = &call->outputs[0];
    const uint32_t rank = image->shape.rank - 2;
    const int64_t points = shape_product(&out->shape, 2, out->shape.rank);
    const int64_t channels = image->shape.dims[1];
    Sampling s = {call, NULL, shape_make(rank, image->shape.dims + 2),
        attributes_int(call->attributes, "align_corners") != 0};
    const double edge = s.corners ? 0 : 0.5;
    for (int64_t i = 0; i < out->count; i++) {
        const int64_t batch = i / points / channels;
        double x[SPATIAL_MAX] = {0};
        int64_t at[SPATIAL_MAX];
        for (uint32_t d = 0; d < rank; d++) {
            const double n = grid->values[(batch * points + i % points) * rank + rank - 1 - d];
            const double last = (double)s.shape.dims[d] - 1;
            x[d] = s.corners ? (n + 1) / 2 * last : ((n + 1) * (last + 1) - 1) / 2;
            if (is_text(call, "mode", "nearest")) x[d] = rint(x[d]);
            const bool outside = x[d] < -edge || x[d] > last + edge;
            if (outside && is_text(call, "padding_mode", "border"))
                x[d] = fmin(fmax(x[d], 0), last);
            if (outside && is_text(call, "padding_mode", "reflection"))
                x[d] = bounce(x[d], -edge, last + edge);
        }
        s.plane = image->values + i / points * shape_count_unchecked(&s.shape);
        const double value = sample(&s, x, 0, at);
        out->values[i] = dtype_is_integer(out->dtype) ? trunc(value) : value;
    }
}

void reference_affine_grid(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    const uint32_t rank = out->shape.rank - 2;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        const double *row =
            call->inputs[0].values + (index[0] * rank + index[rank + 1]) * (rank + 1);
        double sum = row[rank];
        for (uint32_t c = 0; c < rank; c++) {
            const double dim = (double)out->shape.dims[rank - c], at = (double)index[rank - c];
            double x = -1 + (at + 0.5) * 2 / dim;
            if (attributes_int(call->attributes, "align_corners"))
                x = dim > 1 ? -1 + at * 2 / (dim - 1) : 0;
            sum += row[c] * x;
        }
        out->values[i] = sum;
    }
}

/* The window that they have in common lies in the middle of both. */
void reference_center_crop_pad(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0}, from[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        bool outside = false;
        for (uint32_t d = 0; d < x->shape.rank; d++) {
            const int64_t in = x->shape.dims[d], to = out->shape.dims[d];
            from[d] = in > to ? index[d] + (in - to) / 2 : index[d] - (to - in) / 2;
            outside = outside || from[d] < 0 || from[d] >= in;
        }
        out->values[i] = outside ? 0 : x->values[reference_flat(&x->shape, from)];
    }
}

/* The depth and place of an element that lies at depth `channel` of a block. */
static void cut_depth(const ReferenceCall *call, int64_t channel, int64_t channels, int64_t block,
    int64_t *out_channel, int64_t *out_row, int64_t *out_column) {
    const bool crd = is_text(call, "mode", "CRD");
    const int64_t place = crd ? channel % (block * block) : channel / channels;
    *out_channel = crd ? channel / (block * block) : channel % channels;
    *out_row = place / block;
    *out_column = place % block;
}

void reference_depth_to_space(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    const int64_t block = attributes_int(call->attributes, "blocksize");
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->count; i++, (void)reference_next(&x->shape, index)) {
        int64_t channel, row, column;
        cut_depth(call, index[1], out->shape.dims[1], block, &channel, &row, &column);
        const int64_t to[4] = {
            index[0], channel, index[2] * block + row, index[3] * block + column};
        out->values[reference_flat(&out->shape, to)] = x->values[i];
    }
}

void reference_space_to_depth(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    ReferenceTensor *out = &call->outputs[0];
    const int64_t block = attributes_int(call->attributes, "blocksize");
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++, (void)reference_next(&out->shape, index)) {
        int64_t channel, row, column;
        cut_depth(call, index[1], x->shape.dims[1], block, &channel, &row, &column);
        const int64_t from[4] = {
            index[0], channel, index[2] * block + row, index[3] * block + column};
        out->values[i] = x->values[reference_flat(&x->shape, from)];
    }
}
