#include "kernels/arguments/arguments.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/tensor/dtype_scalar.h"

Error *arguments_ints(const PlanRequest *request, uint32_t index, uint32_t count_max, int64_t *out,
    uint32_t *out_count) {
    *out_count = 0;
    if (!plan_request_has(request, index)) return NULL;
    const TensorSpec *spec = &request->inputs[index];
    if (spec->dtype != DTYPE_INT64 && spec->dtype != DTYPE_INT32)
        FAIL(INVALID, "input %u is %s, not int64", index, dtype_name(spec->dtype));
    if (spec->shape.rank > 1) FAIL(INVALID, "input %u has rank %u", index, spec->shape.rank);
    int64_t count = shape_count_unchecked(&spec->shape);
    if (count > count_max)
        FAIL(INVALID, "input %u has %" PRId64 " elements, at most %u fit", index, count, count_max);
    const char *values = count ? request->values[index] : NULL;
    for (int64_t i = 0; i < count; i++)
        (void)dtype_scalar_read_int(
            spec->dtype, values + i * (dtype_bits(spec->dtype) / 8), &out[i]);
    *out_count = (uint32_t)count;
    return NULL;
}

Error *arguments_int(const PlanRequest *request, uint32_t index, int64_t *out) {
    const TensorSpec *spec = &request->inputs[index];
    if (spec->shape.rank > 1 || shape_count_unchecked(&spec->shape) != 1)
        FAIL(INVALID, "input %u is not one number", index);
    double value;
    if (dtype_scalar_read_int(spec->dtype, request->values[index], out)) return NULL;
    if (!dtype_scalar_read(spec->dtype, request->values[index], &value))
        FAIL(INVALID, "input %u is %s", index, dtype_name(spec->dtype));
    if (!(fabs(value) < 0x1p53)) FAIL(INVALID, "input %u is not a whole number", index);
    *out = (int64_t)value;
    return NULL;
}

Error *arguments_floats(const PlanRequest *request, uint32_t index, uint32_t count_max, double *out,
    uint32_t *out_count) {
    *out_count = 0;
    if (!plan_request_has(request, index)) return NULL;
    const TensorSpec *spec = &request->inputs[index];
    if (!dtype_is_float(spec->dtype))
        FAIL(INVALID, "input %u is %s, not a float type", index, dtype_name(spec->dtype));
    if (spec->shape.rank > 1) FAIL(INVALID, "input %u has rank %u", index, spec->shape.rank);
    int64_t count = shape_count_unchecked(&spec->shape);
    if (count > count_max)
        FAIL(INVALID, "input %u has %" PRId64 " elements, at most %u fit", index, count, count_max);
    const char *values = count ? request->values[index] : NULL;
    for (int64_t i = 0; i < count; i++)
        (void)dtype_scalar_read(spec->dtype, values + i * (dtype_bits(spec->dtype) / 8), &out[i]);
    *out_count = (uint32_t)count;
    return NULL;
}

Error *arguments_named_axes(
    const PlanRequest *request, uint32_t out_axes[SHAPE_RANK_MAX], uint32_t *out_count) {
    const uint32_t rank = request->inputs[0].shape.rank;
    bool seen[SHAPE_RANK_MAX] = {false};
    uint32_t given;
    const int64_t *axes = attributes_ints(request->attributes, "axes", &given);
    *out_count = axes ? given : rank;
    for (uint32_t i = 0; !axes && i < rank; i++) out_axes[i] = i;
    if (axes && given > rank) FAIL(INVALID, "%u axes for rank %u", given, rank);
    for (uint32_t i = 0; axes && i < given; i++) {
        TRY(shape_axis(axes[i], rank, &out_axes[i]));
        if (seen[out_axes[i]]) FAIL(INVALID, "axis %u twice", out_axes[i]);
        seen[out_axes[i]] = true;
    }
    return NULL;
}

Error *arguments_axis(const PlanRequest *request, uint32_t *out_axis) {
    return shape_axis(
        attributes_int(request->attributes, "axis"), request->inputs[0].shape.rank, out_axis);
}

Error *arguments_join(const PlanRequest *request, uint32_t *out_axis, const Shape **out_first) {
    uint32_t first = 0;
    while (
        first < request->input_count && shape_count_unchecked(&request->inputs[first].shape) == 0)
        first++;
    if (first == request->input_count) first = 0;
    *out_first = &request->inputs[first].shape;
    return shape_axis(attributes_int(request->attributes, "axis"), (*out_first)->rank, out_axis);
}

/* Axes, each at most once. Absent or empty: count 0. */
static Error *read_axes(const PlanRequest *request, uint32_t index, uint32_t rank,
    uint32_t out_axes[SHAPE_RANK_MAX], uint32_t *out_count) {
    int64_t axes[SHAPE_RANK_MAX];
    bool seen[SHAPE_RANK_MAX] = {false};
    TRY(arguments_ints(request, index, SHAPE_RANK_MAX, axes, out_count));
    for (uint32_t i = 0; i < *out_count; i++) {
        TRY(shape_axis(axes[i], rank, &out_axes[i]));
        if (seen[out_axes[i]]) FAIL(INVALID, "axis %u twice", out_axes[i]);
        seen[out_axes[i]] = true;
    }
    return NULL;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static Error *slice_one(
    SliceArguments *slice, uint32_t axis, int64_t dim, int64_t start, int64_t end, int64_t step) {
    if (step == 0) FAIL(INVALID, "step 0 along axis %u", axis);
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    /* backwards, a start before the first element means the first one: by ONNX's text, unlike
     * numpy */
    start = step > 0 ? clamp(start, 0, dim) : dim > 0 ? clamp(start, 0, dim - 1) : -1;
    end = step > 0 ? clamp(end, 0, dim) : clamp(end, -1, dim - 1);
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    int64_t span = step > 0 ? end - start : start - end;
    slice->count[axis] = span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / stride) + 1;
    slice->start[axis] = span <= 0 ? 0 : start;
    slice->step[axis] = step;
    return NULL;
}

Error *arguments_slice(const PlanRequest *request, SliceArguments *out) {
    const Shape *shape = &request->inputs[0].shape;
    int64_t starts[SHAPE_RANK_MAX], ends[SHAPE_RANK_MAX], steps[SHAPE_RANK_MAX];
    uint32_t axes[SHAPE_RANK_MAX];
    uint32_t count, end_count, step_count, axis_count;
    TRY(arguments_ints(request, 1, SHAPE_RANK_MAX, starts, &count));
    TRY(arguments_ints(request, 2, SHAPE_RANK_MAX, ends, &end_count));
    TRY(read_axes(request, 3, shape->rank, axes, &axis_count));
    TRY(arguments_ints(request, 4, SHAPE_RANK_MAX, steps, &step_count));
    bool has_axes = plan_request_has(request, 3), has_steps = plan_request_has(request, 4);
    if (end_count != count || (has_axes && axis_count != count) ||
        (has_steps && step_count != count) || count > shape->rank)
        FAIL(INVALID, "starts, ends, axes and steps differ in length");
    SliceArguments slice;
    for (uint32_t i = 0; i < SHAPE_RANK_MAX; i++) {
        slice.start[i] = 0;
        slice.step[i] = 1;
        slice.count[i] = i < shape->rank ? shape->dims[i] : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis = has_axes ? axes[i] : i;
        TRY(slice_one(
            &slice, axis, shape->dims[axis], starts[i], ends[i], has_steps ? steps[i] : 1));
    }
    *out = slice;
    return NULL;
}

Error *arguments_word(
    const Attributes *attributes, const char *name, const char *const *words, uint32_t *out_index) {
    const char *text = attributes_text(attributes, name);
    for (uint32_t i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        if (out_index) *out_index = i;
        return NULL;
    }
    FAIL(INVALID, "%s \"%.40s\"", name, text);
}

static Error *read_pad_mode(const Attributes *attributes, PadMode *out) {
    static const char *const names[] = {
        [PAD_CONSTANT] = "constant",
        [PAD_REFLECT] = "reflect",
        [PAD_EDGE] = "edge",
        [PAD_WRAP] = "wrap",
        NULL,
    };
    uint32_t mode;
    TRY(arguments_word(attributes, "mode", names, &mode));
    *out = (PadMode)mode;
    return NULL;
}

Error *arguments_axes(const PlanRequest *request, bool out_reduced[SHAPE_RANK_MAX]) {
    static const int64_t otherwise[] = {0, 2, 3};
    uint32_t count = 3, axis;
    const int64_t *axes = otherwise;
    if (attributes_has(request->attributes, "axes"))
        axes = attributes_ints(request->attributes, "axes", &count);
    bool reduced[SHAPE_RANK_MAX] = {false};
    for (uint32_t i = 0; i < count; i++) {
        TRY(shape_axis(axes[i], request->inputs[0].shape.rank, &axis));
        if (reduced[axis]) FAIL(INVALID, "axis %u twice", axis);
        reduced[axis] = true;
    }
    memcpy(out_reduced, reduced, sizeof reduced);
    return NULL;
}

/* Checks that the mode has enough elements to pad with: reflect has dim - 1 elements beside the
 * edge. */
static Error *check_pad(const PadArguments *pad, uint32_t axis, int64_t dim) {
    int64_t most = INT64_MAX / 4;
    if (pad->mode == PAD_REFLECT) most = dim > 0 ? dim - 1 : 0;
    if ((pad->mode == PAD_EDGE || pad->mode == PAD_WRAP) && dim == 0) most = 0;
    if (pad->begin[axis] > most || pad->end[axis] > most || pad->begin[axis] < -INT64_MAX / 4 ||
        pad->end[axis] < -INT64_MAX / 4)
        FAIL(INVALID, "pads %" PRId64 " and %" PRId64 " of dimension %u, which has %" PRId64,
            pad->begin[axis], pad->end[axis], axis, dim);
    return NULL;
}

/* CenterCropPad: cuts half of the surplus from the front, or pads half of the missing elements
 * there. The end takes the odd element. */
static Error *center_crop_pad(const PlanRequest *request, PadArguments *out) {
    const Shape *shape = &request->inputs[0].shape;
    int64_t wanted[SHAPE_RANK_MAX];
    uint32_t axes[SHAPE_RANK_MAX];
    uint32_t count, axis_count;
    PadArguments pad = {.mode = PAD_CONSTANT};
    TRY(arguments_ints(request, 1, SHAPE_RANK_MAX, wanted, &count));
    TRY(arguments_named_axes(request, axes, &axis_count));
    if (count != axis_count) FAIL(INVALID, "%u dimensions for %u axes", count, axis_count);
    for (uint32_t i = 0; i < count; i++) {
        if (wanted[i] < 0) FAIL(INVALID, "dimension %u is %" PRId64, i, wanted[i]);
        int64_t more = wanted[i] - shape->dims[axes[i]];
        pad.begin[axes[i]] = more / 2; /* towards 0 */
        pad.end[axes[i]] = more - more / 2;
        TRY(check_pad(&pad, axes[i], shape->dims[axes[i]]));
    }
    *out = pad;
    return NULL;
}

Error *arguments_pad(const PlanRequest *request, PadArguments *out) {
    if (request->operator_info->id == OPERATOR_CENTER_CROP_PAD)
        return center_crop_pad(request, out);
    const Shape *shape = &request->inputs[0].shape;
    int64_t pads[2 * SHAPE_RANK_MAX];
    uint32_t axes[SHAPE_RANK_MAX];
    uint32_t count, axis_count;
    PadArguments pad = {0};
    TRY(read_pad_mode(request->attributes, &pad.mode));
    TRY(arguments_ints(request, 1, 2 * SHAPE_RANK_MAX, pads, &count));
    TRY(read_axes(request, 3, shape->rank, axes, &axis_count));
    if (!plan_request_has(request, 3)) {
        axis_count = shape->rank;
        for (uint32_t i = 0; i < axis_count; i++) axes[i] = i;
    }
    if (count != 2 * axis_count) FAIL(INVALID, "%u pads for %u dimensions", count, axis_count);
    for (uint32_t i = 0; i < axis_count; i++) {
        pad.begin[axes[i]] = pads[i];
        pad.end[axes[i]] = pads[axis_count + i];
        TRY(check_pad(&pad, axes[i], shape->dims[axes[i]]));
    }
    *out = pad;
    return NULL;
}

Error *arguments_reduce(const PlanRequest *request, ReduceArguments *out) {
    uint32_t rank = request->inputs[0].shape.rank, count;
    uint32_t axes[SHAPE_RANK_MAX];
    TRY(read_axes(request, 1, rank, axes, &count));
    ReduceArguments reduce = {0};
    reduce.keep_dims = attributes_int(request->attributes, "keepdims") != 0;
    bool all = count == 0 && attributes_int(request->attributes, "noop_with_empty_axes") == 0;
    for (uint32_t i = 0; i < rank; i++) reduce.reduced[i] = all;
    for (uint32_t i = 0; i < count; i++) reduce.reduced[axes[i]] = true;
    *out = reduce;
    return NULL;
}

static Error *split_by_number(
    const PlanRequest *request, int64_t dim, int64_t out_sizes[PLAN_OUTPUTS_MAX]) {
    int64_t number = request->output_count;
    if (attributes_has(request->attributes, "num_outputs"))
        number = attributes_int(request->attributes, "num_outputs");
    if (number != request->output_count)
        FAIL(INVALID, "num_outputs %" PRId64 " but %u outputs", number, request->output_count);
    int64_t chunk = dim / number + (dim % number != 0);
    for (uint32_t i = 0; i < request->output_count; i++) {
        out_sizes[i] = dim < chunk ? dim : chunk;
        dim -= out_sizes[i];
    }
    return NULL;
}

Error *arguments_split(
    const PlanRequest *request, uint32_t *out_axis, int64_t out_sizes[PLAN_OUTPUTS_MAX]) {
    TRY(arguments_axis(request, out_axis));
    int64_t dim = request->inputs[0].shape.dims[*out_axis];
    if (!plan_request_has(request, 1)) return split_by_number(request, dim, out_sizes);
    uint32_t count;
    TRY(arguments_ints(request, 1, PLAN_OUTPUTS_MAX, out_sizes, &count));
    if (count != request->output_count)
        FAIL(INVALID, "%u sizes for %u outputs", count, request->output_count);
    int64_t left = dim;
    for (uint32_t i = 0; i < count; i++) {
        if (out_sizes[i] < 0 || out_sizes[i] > left)
            FAIL(INVALID, "size %" PRId64 " of %" PRId64, out_sizes[i], dim);
        left -= out_sizes[i];
    }
    if (left != 0) FAIL(INVALID, "the sizes leave %" PRId64 " of %" PRId64, left, dim);
    return NULL;
}

static Error *range_of_ints(const PlanRequest *request, RangeArguments *out) {
    int64_t start, limit, step;
    TRY(arguments_int(request, 0, &start));
    TRY(arguments_int(request, 1, &limit));
    TRY(arguments_int(request, 2, &step));
    if (step == 0) FAIL(INVALID, "step 0");
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    bool empty = step > 0 ? limit <= start : limit >= start;
    uint64_t span =
        step > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t count = empty ? 0 : (span - 1) / stride + 1;
    if (count > INT64_MAX) FAIL(INVALID, "more than 2^63 elements");
    *out = (RangeArguments){.start_int = start, .step_int = step, .count = (int64_t)count};
    return NULL;
}

static Error *range_of_floats(const PlanRequest *request, RangeArguments *out) {
    double numbers[3];
    for (uint32_t i = 0; i < 3; i++) {
        const TensorSpec *spec = &request->inputs[i];
        if (spec->shape.rank > 1 || shape_count_unchecked(&spec->shape) != 1)
            FAIL(INVALID, "input %u is not one number", i);
        if (!dtype_scalar_read(spec->dtype, request->values[i], &numbers[i]))
            FAIL(UNSUPPORTED, "element type %s", dtype_name(spec->dtype));
    }
    double count = ceil((numbers[1] - numbers[0]) / numbers[2]);
    if (isnan(count) || count > 0x1p53)
        FAIL(INVALID, "from %g to %g by %g", numbers[0], numbers[1], numbers[2]);
    *out = (RangeArguments){
        .start = numbers[0], .step = numbers[2], .count = count > 0 ? (int64_t)count : 0};
    return NULL;
}

Error *arguments_range(const PlanRequest *request, RangeArguments *out) {
    return dtype_is_float(request->inputs[0].dtype) ? range_of_floats(request, out)
                                                    : range_of_ints(request, out);
}

Error *arguments_perm(const PlanRequest *request, uint32_t out_perm[SHAPE_RANK_MAX]) {
    uint32_t rank = request->inputs[0].shape.rank, count;
    const int64_t *perm = attributes_ints(request->attributes, "perm", &count);
    bool seen[SHAPE_RANK_MAX] = {false};
    for (uint32_t i = 0; i < rank; i++) out_perm[i] = rank - 1 - i;
    if (!perm) return NULL;
    if (count != rank) FAIL(INVALID, "perm has %u elements for rank %u", count, rank);
    for (uint32_t i = 0; i < rank; i++) {
        if (perm[i] < 0 || perm[i] >= rank || seen[perm[i]])
            FAIL(INVALID, "perm is not an order of the dimensions");
        seen[perm[i]] = true;
        out_perm[i] = (uint32_t)perm[i];
    }
    return NULL;
}

Error *arguments_tree_aggregate(const PlanRequest *request, TreeAggregate *out) {
    static const char *const names[] = {
        [TREE_SUM] = "SUM",
        [TREE_AVERAGE] = "AVERAGE",
        [TREE_MIN] = "MIN",
        [TREE_MAX] = "MAX",
        NULL,
    };
    uint32_t aggregate;
    TRY(arguments_word(request->attributes, "aggregate", names, &aggregate));
    *out = (TreeAggregate)aggregate;
    return NULL;
}

Error *arguments_trilu(const PlanRequest *request, TriluArguments *out) {
    const Shape *shape = &request->inputs[0].shape;
    if (shape->rank < 2) FAIL(INVALID, "a matrix of rank %u", shape->rank);
    *out = (TriluArguments){.rows = 1,
        .height = shape->dims[shape->rank - 2],
        .width = shape->dims[shape->rank - 1],
        .upper = attributes_int(request->attributes, "upper") != 0};
    for (uint32_t i = 0; i + 1 < shape->rank; i++) out->rows *= (uint64_t)shape->dims[i];
    return plan_request_has(request, 1) ? arguments_int(request, 1, &out->k) : NULL;
}

/* Counted from the end if negative, within 0 … rank. */
static int64_t place_within(int64_t place, int64_t rank) {
    if (place < 0) return place < -rank ? 0 : place + rank;
    return place > rank ? rank : place;
}

void arguments_shape_numbers(const PlanRequest *request, ShapeNumbers *out) {
    const Attributes *attributes = request->attributes;
    const Shape *shape = &request->inputs[0].shape;
    *out = (ShapeNumbers){.count = 1};
    if (request->operator_info->id == OPERATOR_SIZE) {
        out->numbers[0] = shape_count_unchecked(shape);
        return;
    }
    const int64_t rank = shape->rank;
    const int64_t start = place_within(attributes_int(attributes, "start"), rank);
    int64_t end = rank;
    if (attributes_has(attributes, "end"))
        end = place_within(attributes_int(attributes, "end"), rank);
    out->count = end > start ? (uint32_t)(end - start) : 0;
    for (uint32_t i = 0; i < out->count; i++) out->numbers[i] = shape->dims[start + i];
}
