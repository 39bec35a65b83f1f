/* RoiAlign and MaxRoiPool: a unit is one region in a group of channels. RoiAlign finds the samples
 * of some bins once, and takes them from each channel of the group. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_vector.h"

enum {
    SAMPLES_PER_PART = 8192,
    CHANNELS = 64,      /* of a group */
    TAPS_MAX = 256,     /* of bins that are computed together */
    BINS_MAX = TAPS_MAX /* the same, of bins without samples inside the image */
};

typedef struct State {
    int64_t batch, channels, height, width, regions, groups;
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

/* A sample: its four neighbours in a plane and their weights. */
typedef struct Tap {
    int64_t offsets[4];
    double weights[4];
} Tap;

/* Bins that are computed together, from `first` on. The taps of bin i end at ends[i]. */
typedef struct Bins {
    int64_t first, count;
    int64_t ends[BINS_MAX];
    Tap taps[TAPS_MAX];
} Bins;

static Tap tap_of(const State *state, const Between *down, const Between *across) {
    const int64_t above = down->low * state->width, below = down->high * state->width;
    const double up = 1 - down->rest, left = 1 - across->rest;
    return (Tap){
        {above + across->low, above + across->high, below + across->low, below + across->high},
        {up * left, up * across->rest, down->rest * left, down->rest * across->rest}};
}

/* Combines the four weighted neighbours of a sample: their sum, or their largest, as other
 * implementations of max do. */
CPU_INLINE double take_tap(const Tap *tap, bool is_max, bool wide, const void *x, int64_t plane) {
    double values[4];
    for (int64_t i = 0; i < 4; i++)
        values[i] = tap->weights[i] * cpu_float_load(wide, x, plane + tap->offsets[i]);
    return is_max ? larger(larger(values[0], values[1]), larger(values[2], values[3]))
                  : values[0] + values[1] + values[2] + values[3];
}

/* Adds a bin's next sample, or takes the larger one. */
static double join(bool is_max, double total, double value, int64_t inside) {
    if (!is_max) return total + value;
    return inside ? larger(total, value) : value;
}

/* count: samples of the bin; samples outside the image are 0. */
static double finish_bin(const State *state, double total, int64_t inside, double count) {
    if (!state->is_max) return inside ? total / count : 0;
    return (double)inside < count ? larger(total, 0) : total;
}

/* A bin of too many samples for a table. */
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
            const Tap tap = tap_of(state, &y, &at);
            const double value = take_tap(&tap, state->is_max, state->wide, x, plane);
            total = join(state->is_max, total, value, inside++);
        }
    }
    return finish_bin(state, total, inside, (double)down->count * (double)across->count);
}

/* Writes the samples of a bin; false if there may be more than `room`. */
static bool find_taps(const State *state, const Samples *down, const Samples *across, int64_t room,
    Tap *out, int64_t *out_count) {
    int64_t row, rows, column, columns;
    *out_count = 0;
    clip_samples(down, state->height, &row, &rows);
    clip_samples(across, state->width, &column, &columns);
    if (rows - row > room || columns - column > room || (rows - row) * (columns - column) > room)
        return false;
    for (int64_t i = row; i < rows; i++) {
        Between y, at;
        if (!find_between(down, i, state->height, &y)) continue;
        for (int64_t j = column; j < columns; j++)
            if (find_between(across, j, state->width, &at))
                out[(*out_count)++] = tap_of(state, &y, &at);
    }
    return true;
}

/* The bins of one channel. */
CPU_INLINE void align_channel(const State *state, bool is_max, bool wide, const Bins *bins,
    double count, const void *x, int64_t plane, void *y, int64_t to) {
    int64_t tap = 0;
    for (int64_t bin = 0; bin < bins->count; bin++) {
        const int64_t first = tap;
        double total = 0;
        for (; tap < bins->ends[bin]; tap++)
            total = join(
                is_max, total, take_tap(&bins->taps[tap], is_max, wide, x, plane), tap - first);
        cpu_float_store(wide, y, to + bin, finish_bin(state, total, tap - first, count));
    }
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

/* A region in some channels. */
typedef struct Part {
    const Run *run;
    Samples rows, columns; /* of the whole region, with a bin as step */
    int64_t bins;
    int64_t plane, planes; /* the first channel's, and how many */
    int64_t to;            /* of the first channel's first bin */
} Part;

static void bin_samples(const Part *part, int64_t bin, Samples *out_down, Samples *out_across) {
    const int64_t width = part->run->state->pooled_width;
    const Samples *rows = &part->rows, *columns = &part->columns;
    *out_down = (Samples){rows->start + (double)(bin / width) * rows->step,
        rows->count ? rows->step / (double)rows->count : 0, rows->count};
    *out_across = (Samples){columns->start + (double)(bin % width) * columns->step,
        columns->count ? columns->step / (double)columns->count : 0, columns->count};
}

/* Finds the samples of as many bins as fit, from out->first on. */
static void find_bins(const Part *part, Bins *out) {
    int64_t taps = 0, found;
    for (out->count = 0; out->count < BINS_MAX && out->first + out->count < part->bins;) {
        Samples down, across;
        bin_samples(part, out->first + out->count, &down, &across);
        if (!find_taps(part->run->state, &down, &across, TAPS_MAX - taps, out->taps + taps, &found))
            return;
        taps += found;
        out->ends[out->count++] = taps;
    }
}

static void align_one_bin(const Part *part, int64_t bin, KernelStopMeter *meter) {
    const State *state = part->run->state;
    const int64_t size = state->height * state->width;
    Samples down, across;
    bin_samples(part, bin, &down, &across);
    for (int64_t c = 0; c < part->planes; c++)
        cpu_float_store(state->wide, part->run->y, part->to + c * part->bins + bin,
            align_bin(state, part->run->x, (part->plane + c) * size, &down, &across, meter));
}

static void align_bins(const Part *part, const Bins *bins, KernelStopMeter *meter) {
    const State *state = part->run->state;
    const double count = (double)part->rows.count * (double)part->columns.count;
    const int64_t size = state->height * state->width;
    const uint64_t work = (uint64_t)(bins->ends[bins->count - 1] + bins->count);
    for (int64_t c = 0; c < part->planes && !kernel_stop_ends_after(meter, work * 8); c++) {
        const int64_t plane = (part->plane + c) * size;
        const int64_t to = part->to + c * part->bins + bins->first;
        if (!state->is_max && !state->wide) /* what detectors do: a loop of its own */
            align_channel(state, false, false, bins, count, part->run->x, plane, part->run->y, to);
        else
            align_channel(state, state->is_max, state->wide, bins, count, part->run->x, plane,
                part->run->y, to);
    }
}

static void align_region(const Run *run, int64_t region, int64_t group) {
    const State *state = run->state;
    const int64_t first = group * CHANNELS, left = state->channels - first;
    double corners[4];
    for (int64_t i = 0; i < 4; i++)
        corners[i] = cpu_float_load(state->wide, run->regions, region * 4 + i);
    Part part = {
        .run = run,
        .rows = samples_of(state, corners[1], corners[3], state->pooled_height),
        .columns = samples_of(state, corners[0], corners[2], state->pooled_width),
        .bins = state->pooled_height * state->pooled_width,
        .plane = run->images[region] * state->channels + first,
        .planes = left < CHANNELS ? left : CHANNELS,
    };
    part.to = (region * state->channels + first) * part.bins;
    KernelStopMeter meter = {0};
    Bins bins;
    for (bins.first = 0; bins.first < part.bins; bins.first += bins.count) {
        if (kernel_stop_ends_after(&meter, 1024)) return;
        find_bins(&part, &bins);
        if (bins.count > 0) {
            align_bins(&part, &bins, &meter);
            continue;
        }
        align_one_bin(&part, bins.first, &meter);
        bins.count = 1;
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
    const int64_t groups = run->state->groups;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        if (run->state->aligns)
            align_region(run, unit / groups, unit % groups);
        else
            pool_region(run, unit / groups, unit % groups);
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
    const uint64_t units = (uint64_t)(state->regions * state->groups);
    Run run = {state, call->inputs[0], call->inputs[1], call->workspace, call->outputs[0]};
    if (units == 0) return NULL;
    if (state->aligns)
        TRY(read_images(state, (const int64_t *)(const void *)call->inputs[2], run.images));
    else
        TRY(read_first_numbers(state, run.regions, run.images));
    /* the size of regions is not known: about four elements for each bin */
    const int64_t channels = state->aligns ? CHANNELS : 1;
    const int64_t cost = state->pooled_height * state->pooled_width * 4 * channels;
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
    state->groups = aligns ? (state->channels + CHANNELS - 1) / CHANNELS : state->channels;
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
