/* RoiAlign and MaxRoiPool: a unit is one region in one channel. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"

enum { SAMPLES_PER_PART = 8192 };

typedef struct State {
    int64_t batch, channels, height, width, regions;
    int64_t pooled_height, pooled_width, sampling_ratio;
    double scale;
    bool half_pixel, is_max, wide, aligns;
} State;

typedef struct Run {
    const State *state;
    const void *x, *regions;
    int64_t *images; /* of each region: the checked index of its image; in the workspace */
    void *y;
} Run;

/* Samples of a bin along one dimension: sample i is at start + (i + 0.5) * step. */
typedef struct Samples {
    double start, step;
    int64_t count;
} Samples;

/* The samples that may touch 0 … dim. Other samples are 0, however many a hostile region asks
 * for. */
static void clip_samples(
    const Samples *samples, int64_t dim, int64_t *out_begin, int64_t *out_end) {
    const double count = (double)samples->count;
    *out_begin = *out_end = 0;
    if (!isfinite(samples->start) || !isfinite(samples->step)) return;
    *out_end = samples->count;
    if (samples->step == 0) return;
    const double a = (-1 - samples->start) / samples->step;
    const double b = ((double)dim - samples->start) / samples->step;
    const double low = floor(a < b ? a : b) - 1, high = ceil(a < b ? b : a) + 1;
    *out_begin = low > 0 ? (low < count ? (int64_t)low : samples->count) : 0;
    *out_end = high < count ? (high > 0 ? (int64_t)high : 0) : samples->count;
}

/* A sample's place between two neighbours. */
typedef struct Between {
    int64_t low, high;
    double rest;
} Between;

/* False: outside. */
static bool find_between(const Samples *samples, int64_t index, int64_t dim, Between *out) {
    double at = samples->start + ((double)index + 0.5) * samples->step;
    if (!(at >= -1 && at <= (double)dim)) return false;
    if (at < 0) at = 0;
    out->low = (int64_t)at;
    if (out->low >= dim - 1) {
        *out = (Between){dim - 1, dim - 1, 0};
        return true;
    }
    out->high = out->low + 1;
    out->rest = at - (double)out->low;
    return true;
}

static double larger(double a, double b) { return b > a || b != b ? b : a; }

/* Combines the four weighted neighbours of a sample: their sum, or their largest, as other
 * implementations of max do. */
static double take_sample(
    const State *state, const void *x, int64_t plane, const Between *down, const Between *across) {
    const int64_t above = plane + down->low * state->width;
    const int64_t below = plane + down->high * state->width;
    const double a =
        (1 - down->rest) * (1 - across->rest) * cpu_float_load(state->wide, x, above + across->low);
    const double b =
        (1 - down->rest) * across->rest * cpu_float_load(state->wide, x, above + across->high);
    const double c =
        down->rest * (1 - across->rest) * cpu_float_load(state->wide, x, below + across->low);
    const double d =
        down->rest * across->rest * cpu_float_load(state->wide, x, below + across->high);
    return state->is_max ? larger(larger(a, b), larger(c, d)) : a + b + c + d;
}

static double align_bin(const State *state, const void *x, int64_t plane, const Samples *down,
    const Samples *across, KernelStopMeter *meter) {
    int64_t row, rows, column, columns, inside = 0;
    double total = 0;
    clip_samples(down, state->height, &row, &rows);
    clip_samples(across, state->width, &column, &columns);
    for (int64_t i = row; i < rows; i++) {
        Between y, at;
        if (!find_between(down, i, state->height, &y)) continue;
        for (int64_t j = column; j < columns; j++) {
            if (kernel_stop_ends_after(meter, 64)) return 0;
            if (!find_between(across, j, state->width, &at)) continue;
            const double value = take_sample(state, x, plane, &y, &at);
            if (!state->is_max)
                total += value;
            else
                total = inside ? larger(total, value) : value;
            inside++;
        }
    }
    const double count = (double)down->count * (double)across->count;
    if (!state->is_max) return inside ? total / count : 0;
    /* samples outside the image are 0 */
    return (double)inside < count ? larger(total, 0) : total;
}

/* One dimension of a region. float32 is computed in float32, as other implementations do, since the
 * number of samples depends on rounding. */
static Samples samples_of(const State *state, double from, double to, int64_t bins) {
    double start, bin;
    const double offset = state->half_pixel ? 0.5 : 0;
    if (state->wide) {
        start = from * state->scale - offset;
        bin = to * state->scale - offset - start;
        if (!state->half_pixel && bin < 1) bin = 1;
        bin /= (double)bins;
    } else {
        const float scale = (float)state->scale;
        const float first = (float)from * scale - (float)offset;
        float size = (float)to * scale - (float)offset - first;
        if (!state->half_pixel && size < 1) size = 1;
        start = (double)first;
        bin = (double)(size / (float)bins);
    }
    Samples samples = {start, bin, state->sampling_ratio};
    const double count = ceil(bin);
    if (samples.count == 0)
        samples.count = count > 0 ? (count < 0x1p31 ? (int64_t)count : INT32_MAX) : 0;
    return samples;
}

static void align_region(const Run *run, int64_t region, int64_t channel) {
    const State *state = run->state;
    const int64_t plane =
        (run->images[region] * state->channels + channel) * state->height * state->width;
    double corners[4];
    for (int64_t i = 0; i < 4; i++)
        corners[i] = cpu_float_load(state->wide, run->regions, region * 4 + i);
    const Samples rows = samples_of(state, corners[1], corners[3], state->pooled_height);
    const Samples columns = samples_of(state, corners[0], corners[2], state->pooled_width);
    int64_t to = (region * state->channels + channel) * state->pooled_height * state->pooled_width;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->pooled_height; i++)
        for (int64_t j = 0; j < state->pooled_width; j++, to++) {
            if (kernel_stop_ends_after(&meter, 64)) return;
            Samples down = rows, across = columns;
            down.start += (double)i * rows.step;
            across.start += (double)j * columns.step;
            down.step = rows.count ? rows.step / (double)rows.count : 0;
            across.step = columns.count ? columns.step / (double)columns.count : 0;
            cpu_float_store(
                state->wide, run->y, to, align_bin(state, run->x, plane, &down, &across, &meter));
        }
}

/* One dimension of a region for MaxRoiPool: whole elements, at least one. */
typedef struct Span {
    double start, bin;
} Span;

static Span span_of(const State *state, double from, double to, int64_t bins) {
    const double start = round(from * state->scale), end = round(to * state->scale);
    const double size = end - start + 1;
    return (Span){start, (size > 1 ? size : 1) / (double)bins};
}

/* Elements of bin i within 0 … dim. */
static void bin_of(const Span *span, int64_t i, int64_t dim, int64_t *out_begin, int64_t *out_end) {
    const double last = (double)dim;
    const double begin = span->start + floor((double)i * span->bin);
    const double end = span->start + ceil((double)(i + 1) * span->bin);
    *out_begin = begin > 0 ? (begin < last ? (int64_t)begin : dim) : 0;
    *out_end = end > 0 ? (end < last ? (int64_t)end : dim) : 0;
}

static void pool_region(const Run *run, int64_t region, int64_t channel) {
    const State *state = run->state;
    const int64_t plane =
        (run->images[region] * state->channels + channel) * state->height * state->width;
    double corners[5];
    for (int64_t i = 1; i < 5; i++)
        corners[i] = cpu_float_load(state->wide, run->regions, region * 5 + i);
    const Span rows = span_of(state, corners[2], corners[4], state->pooled_height);
    const Span columns = span_of(state, corners[1], corners[3], state->pooled_width);
    int64_t to = (region * state->channels + channel) * state->pooled_height * state->pooled_width;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->pooled_height; i++)
        for (int64_t j = 0; j < state->pooled_width; j++, to++) {
            if (kernel_stop_ends_after(&meter, 64)) return;
            int64_t row, row_end, column, column_end;
            bin_of(&rows, i, state->height, &row, &row_end);
            bin_of(&columns, j, state->width, &column, &column_end);
            double most = row < row_end && column < column_end ? -INFINITY : 0;
            for (int64_t h = row; h < row_end && !kernel_stop_ends(); h++)
                for (int64_t w = column; w < column_end && !kernel_stop_ends_after(&meter, 4); w++)
                    most = larger(
                        most, cpu_float_load(state->wide, run->x, plane + h * state->width + w));
            cpu_float_store(state->wide, run->y, to, most);
        }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const int64_t channels = run->state->channels;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        if (run->state->aligns)
            align_region(run, unit / channels, unit % channels);
        else
            pool_region(run, unit / channels, unit % channels);
    }
    return NULL;
}

/* RoiAlign reads the images' indices from an input of their own. */
static Error *read_images(const State *state, const int64_t *indices, int64_t *out) {
    for (int64_t i = 0; i < state->regions; i++) {
        out[i] = ((const volatile int64_t *)indices)[i];
        if (out[i] < 0 || out[i] >= state->batch)
            FAIL(FAILED,
                "RoiAlign: image %" PRId64 " of region %" PRId64 " is outside [0, %" PRId64 "]",
                out[i], i, state->batch - 1);
    }
    return NULL;
}

/* MaxRoiPool: a region's first number. */
static Error *read_first_numbers(const State *state, const void *regions, int64_t *out) {
    for (int64_t i = 0; i < state->regions; i++) {
        const double image = state->wide ? ((const volatile double *)regions)[i * 5]
                                         : (double)((const volatile float *)regions)[i * 5];
        if (!(image >= 0 && image < (double)state->batch))
            FAIL(FAILED, "MaxRoiPool: image %g of region %" PRId64 " is outside [0, %" PRId64 "]",
                image, i, state->batch - 1);
        out[i] = (int64_t)image;
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    const uint64_t units = (uint64_t)(state->regions * state->channels);
    Run run = {state, call->inputs[0], call->inputs[1], call->workspace, call->outputs[0]};
    if (units == 0) return NULL;
    if (state->aligns)
        TRY(read_images(state, (const int64_t *)(const void *)call->inputs[2], run.images));
    else
        TRY(read_first_numbers(state, run.regions, run.images));
    /* the size of regions is not known: about four elements for each bin */
    const int64_t cost = state->pooled_height * state->pooled_width * 4;
    return cpu_for_each(call->device, call->launch->threads, units,
        (uint64_t)(SAMPLES_PER_PART / cost) + 1, run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const bool aligns = request->operator_info->id == OPERATOR_ROI_ALIGN;
    void *opaque;
    TRY(cpu_float_plan_create(device, request, aligns ? "cpu.roi_align" : "cpu.max_roi_pool",
        sizeof(State), run, out, &opaque));
    State *state = opaque;
    *state = (State){
        .batch = x->dims[0],
        .channels = x->dims[1],
        .height = x->dims[2],
        .width = x->dims[3],
        .regions = y->dims[0],
        .pooled_height = y->dims[2],
        .pooled_width = y->dims[3],
        .scale = attributes_float(attributes, "spatial_scale"),
        .wide = request->inputs[0].dtype == DTYPE_FLOAT64,
        .aligns = aligns,
    };
    cpu_float_plan_set_workspace(*out, (uint64_t)state->regions * sizeof(int64_t));
    if (!aligns) return NULL;
    state->sampling_ratio = attributes_int(attributes, "sampling_ratio");
    state->half_pixel =
        strcmp(attributes_text(attributes, "coordinate_transformation_mode"), "half_pixel") == 0;
    state->is_max = strcmp(attributes_text(attributes, "mode"), "max") == 0;
    return NULL;
}

const Kernel cpu_roi[] = {
    {OPERATOR_ROI_ALIGN, DTYPES_FLOAT, plan, "cpu.roi_align", KERNEL_PORTABLE},
    {OPERATOR_MAX_ROI_POOL, DTYPES_FLOAT, plan, "cpu.max_roi_pool", KERNEL_PORTABLE},
    KERNELS_END,
};
