#include "kernels/arguments/resize.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/arguments/arguments.h"

/* Beyond this limit, an antialiasing filter would reach over more elements than any sensible
 * request. */
static const double ANTIALIAS_SCALE_MIN = 0x1p-16;
/* Smaller than the limit of a shape's dimension, and exact as int64. */
static const double DIMENSION_MAX = 0x1p60;

typedef enum Policy { POLICY_STRETCH, POLICY_NOT_LARGER, POLICY_NOT_SMALLER } Policy;

static Error *read_words(const PlanRequest *request, ResizeArguments *out, Policy *out_policy) {
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const roundings[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    static const char *const coordinates[] = {"half_pixel", "half_pixel_symmetric",
        "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
        "tf_half_pixel_for_nn", NULL};
    const Attributes *attributes = request->attributes;
    uint32_t mode, rounding, policy, coordinate;
    TRY(arguments_word(attributes, "mode", modes, &mode));
    TRY(arguments_word(attributes, "nearest_mode", roundings, &rounding));
    TRY(arguments_word(attributes, "keep_aspect_ratio_policy", policies, &policy));
    TRY(arguments_word(attributes, "coordinate_transformation_mode", coordinates, &coordinate));
    out->mode = (ResizeMode)mode;
    out->rounding = (ResizeRounding)rounding;
    out->coordinates = (ResizeCoordinates)coordinate;
    *out_policy = (Policy)policy;
    out->antialias = attributes_int(attributes, "antialias") != 0;
    out->exclude_outside = attributes_int(attributes, "exclude_outside") != 0;
    out->cubic_a = attributes_float(attributes, "cubic_coeff_a");
    out->extrapolation = attributes_float(attributes, "extrapolation_value");
    if (out->antialias && out->mode == RESIZE_NEAREST) FAIL(INVALID, "antialias with mode nearest");
    return NULL;
}

static Error *read_roi(
    const PlanRequest *request, const uint32_t *axes, uint32_t count, ResizeArguments *out) {
    double roi[2 * SHAPE_RANK_MAX];
    uint32_t given;
    if (out->coordinates != RESIZE_TF_CROP_AND_RESIZE) return NULL;
    TRY(arguments_floats(request, 1, 2 * SHAPE_RANK_MAX, roi, &given));
    if (given != 2 * count) FAIL(INVALID, "roi has %u elements, not %u", given, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        ResizeAxis *axis = &out->axes[axes[i]];
        axis->start = roi[i];
        axis->end = roi[count + i];
        if (!isfinite(axis->start) || !isfinite(axis->end))
            FAIL(INVALID, "roi of axis %u is not finite", axes[i]);
    }
    return NULL;
}

static Error *set_output(ResizeAxis *axis, uint32_t index, double output) {
    if (!(output >= 0 && output < DIMENSION_MAX))
        FAIL(INVALID, "dimension %u becomes %g", index, output);
    if (axis->input == 0 && output >= 1)
        FAIL(INVALID, "dimension %u is empty and cannot become %.0f", index, output);
    axis->output = (int64_t)output;
    return NULL;
}

static Error *by_scales(
    const uint32_t *axes, uint32_t count, const double *scales, ResizeArguments *out) {
    for (uint32_t i = 0; i < count; i++) {
        ResizeAxis *axis = &out->axes[axes[i]];
        if (!(scales[i] > 0 && isfinite(scales[i])))
            FAIL(INVALID, "scale %g of axis %u", scales[i], axes[i]);
        axis->to = scales[i];
        axis->length = (double)axis->input * (axis->end - axis->start) * scales[i];
        /* Scales are float32: 20 elements by 0.45 are 9 elements only if the product is rounded. */
        const float whole = (float)axis->input * (float)(axis->end - axis->start);
        TRY(set_output(axis, axes[i], floorf(whole * (float)scales[i])));
    }
    return NULL;
}

static Error *by_sizes(const uint32_t *axes, uint32_t count, const int64_t *sizes, Policy policy,
    ResizeArguments *out) {
    ResizeAxis common = {.from = 1};
    for (uint32_t i = 0; i < count; i++) {
        ResizeAxis *axis = &out->axes[axes[i]];
        if (sizes[i] < 0) FAIL(INVALID, "size %" PRId64 " of axis %u", sizes[i], axes[i]);
        if (axis->input > 0) {
            axis->to = (double)sizes[i];
            axis->from = (double)axis->input;
        }
        TRY(set_output(axis, axes[i], (double)sizes[i]));
        axis->length = (double)sizes[i];
        const double scale = resize_scale(axis), best = resize_scale(&common);
        const bool better = policy == POLICY_NOT_LARGER ? scale < best : scale > best;
        if (i == 0 || better) common = *axis;
    }
    for (uint32_t i = 0; policy != POLICY_STRETCH && i < count; i++) {
        ResizeAxis *axis = &out->axes[axes[i]];
        axis->to = common.to;
        axis->from = common.from;
        axis->length = resize_scale(&common) * (double)axis->input;
        TRY(set_output(axis, axes[i], floor(axis->length + 0.5)));
    }
    return NULL;
}

Error *resize_arguments(const PlanRequest *request, ResizeArguments *out) {
    const Shape *shape = &request->inputs[0].shape;
    ResizeArguments resize = {.rank = shape->rank};
    uint32_t axes[SHAPE_RANK_MAX];
    double scales[SHAPE_RANK_MAX];
    int64_t sizes[SHAPE_RANK_MAX];
    uint32_t count, scale_count, size_count;
    Policy policy;
    TRY(read_words(request, &resize, &policy));
    TRY(arguments_named_axes(request, axes, &count));
    for (uint32_t i = 0; i < shape->rank; i++)
        resize.axes[i] = (ResizeAxis){.input = shape->dims[i],
            .output = shape->dims[i],
            .to = 1,
            .from = 1,
            .length = (double)shape->dims[i],
            .end = 1};
    TRY(read_roi(request, axes, count, &resize));
    TRY(arguments_floats(request, 2, SHAPE_RANK_MAX, scales, &scale_count));
    TRY(arguments_ints(request, 3, SHAPE_RANK_MAX, sizes, &size_count));
    if (scale_count && size_count) FAIL(INVALID, "both scales and sizes");
    if (!scale_count && !size_count && count) FAIL(INVALID, "neither scales nor sizes");
    if (scale_count + size_count != count)
        FAIL(INVALID, "%u scales or sizes for %u axes", scale_count + size_count, count);
    if (scale_count) TRY(by_scales(axes, count, scales, &resize));
    if (size_count) TRY(by_sizes(axes, count, sizes, policy, &resize));
    for (uint32_t i = 0; resize.antialias && i < resize.rank; i++)
        if (resize.axes[i].output > 0 && resize_scale(&resize.axes[i]) < ANTIALIAS_SCALE_MIN)
            FAIL(UNSUPPORTED, "antialias at a scale of %g", resize_scale(&resize.axes[i]));
    *out = resize;
    return NULL;
}

/* Divides once, and the dividend is exact: a coordinate in the middle between two elements is
 * computed exactly, which rounding to the nearest depends on. */
double resize_coordinate(const ResizeArguments *resize, const ResizeAxis *axis, int64_t at) {
    const double x = (double)at, last = (double)(axis->input - 1);
    const double middle = (x + 0.5) * axis->from / axis->to, half_pixel = middle - 0.5;
    switch (resize->coordinates) {
    case RESIZE_HALF_PIXEL:
        break;
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        /* the middle of the input is the middle of the output, even if the output size was rounded
         * down */
        return (x + 0.5 - (double)axis->output / 2) * axis->from / axis->to + last / 2;
    case RESIZE_PYTORCH_HALF_PIXEL:
        return axis->output > 1 ? half_pixel : 0;
    case RESIZE_ALIGN_CORNERS:
        return axis->length == 1 ? 0 : x * last / (axis->length - 1);
    case RESIZE_ASYMMETRIC:
        return x * axis->from / axis->to;
    case RESIZE_TF_CROP_AND_RESIZE:
        if (axis->length == 1) return (axis->start + axis->end) * last / 2;
        return axis->start * last + x * (axis->end - axis->start) * last / (axis->length - 1);
    case RESIZE_TF_HALF_PIXEL_FOR_NN:
        return middle;
    }
    return half_pixel;
}
