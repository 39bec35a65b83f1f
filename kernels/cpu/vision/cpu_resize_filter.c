#include "kernels/cpu/vision/cpu_resize_filter.h"

#include <math.h>

#include "kernels/device/kernel_stop.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* The stretch of the filter: 1 unless the axis shrinks with antialiasing. */
static double stretch_of(const ResizeArguments *resize, const ResizeAxis *axis) {
    const double scale = resize_scale(axis);
    return resize->antialias && scale < 1 ? scale : 1;
}

static double radius_of(const ResizeArguments *resize, const ResizeAxis *axis) {
    return (resize->mode == RESIZE_CUBIC ? 2 : 1) / stretch_of(resize, axis);
}

static bool stays(const ResizeArguments *resize, const ResizeAxis *axis) {
    if (axis->input != axis->output || resize_scale(axis) != 1) return false;
    /* a region has other coordinates even if the length is the same */
    return resize->coordinates != RESIZE_TF_CROP_AND_RESIZE || (axis->start == 0 && axis->end == 1);
}

int64_t cpu_resize_filter_taps(const ResizeArguments *resize, const ResizeAxis *axis) {
    if (stays(resize, axis)) return 0;
    if (resize->mode == RESIZE_NEAREST) return 1;
    const int64_t reach = (int64_t)(2 * radius_of(resize, axis)) + 1;
    return reach < axis->input ? reach : axis->input;
}

static int64_t nearest(ResizeRounding rounding, double x) {
    const double below = floor(x), rest = x - below;
    bool up = false;
    switch (rounding) {
    case RESIZE_ROUND_PREFER_FLOOR:
        up = rest > 0.5;
        break;
    case RESIZE_ROUND_PREFER_CEIL:
        up = rest >= 0.5;
        break;
    case RESIZE_FLOOR:
        break;
    case RESIZE_CEIL:
        up = rest > 0;
        break;
    }
    return (int64_t)below + up;
}

/* The weight of an element at a distance. */
static double filter(const ResizeArguments *resize, double distance) {
    const double d = distance, a = resize->cubic_a;
    if (resize->mode == RESIZE_LINEAR) return d < 1 ? 1 - d : 0;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* An element beyond an end counts as the element at that end, whose weights add up, or is left
 * out. */
static CpuResizeSpan weigh(const ResizeArguments *resize, const ResizeAxis *axis, int64_t taps,
    double x, double *weights) {
    const double radius = radius_of(resize, axis), stretch = stretch_of(resize, axis);
    const int64_t low = (int64_t)floor(x - radius) + 1, high = (int64_t)ceil(x + radius) - 1;
    const int64_t last = axis->input - 1;
    CpuResizeSpan span = {clamp(low, 0, last), 1};
    double total = 0;
    KERNEL_STOP_EACH (i, 0, taps) weights[i] = 0;
    for (int64_t i = low; i <= high && !kernel_stop_ends_at(i - low); i++) {
        if (resize->exclude_outside && (i < 0 || i > last)) continue;
        const double weight = filter(resize, fabs((double)i - x) * stretch);
        const int64_t at = clamp(i, 0, last) - span.first;
        weights[at] += weight;
        if (at >= span.count) span.count = at + 1;
        total += weight;
    }
    /* elements of weight 0 are not read: a NaN there would spread */
    int64_t begin = 0;
    while (span.count > 1 && weights[span.count - 1] == 0) span.count--;
    while (begin + 1 < span.count && weights[begin] == 0) begin++;
    span.first += begin;
    span.count -= begin;
    const bool divides = (resize->antialias || resize->exclude_outside) && total != 0;
    for (int64_t i = 0; i < span.count; i++)
        weights[i] = divides ? weights[begin + i] / total : weights[begin + i];
    return span;
}

void cpu_resize_filter_fill(const ResizeArguments *resize, const ResizeAxis *axis, int64_t taps,
    CpuResizeSpan *out_spans, double *out_weights) {
    const double last = (double)(axis->input - 1);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < axis->output; i++) {
        if (kernel_stop_ends_after(&meter, 16 + (uint64_t)taps * 8)) return;
        const double x = resize_coordinate(resize, axis, i);
        if (resize->coordinates == RESIZE_TF_CROP_AND_RESIZE && !(x >= 0 && x <= last)) {
            out_spans[i] = (CpuResizeSpan){0, 0};
        } else if (resize->mode == RESIZE_NEAREST) {
            out_spans[i].first = clamp(nearest(resize->rounding, x), 0, axis->input - 1);
            out_spans[i].count = 1;
            out_weights[i] = 1;
        } else {
            out_spans[i] = weigh(resize, axis, taps, x, out_weights + i * taps);
        }
    }
}
