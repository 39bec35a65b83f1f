/* GridSample: the taps of a block of points are found once and then used for every channel. Nearest
 * moves elements of any type; linear and cubic compute float32 and half types in float32, float64
 * and integers in float64. */
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/vision/cpu_sampler.h"
#include "kernels/scalar/scalar_half.h"

enum { TAPS_PER_PART = 32768 };

typedef struct State {
    CpuSampler sampler;
    int64_t channels, input_count, output_count; /* of a plane */
    int64_t block, blocks;                       /* points of a block; blocks of an image */
    uint64_t units;                              /* of all images */
    uint32_t tap_count;
    uint32_t size; /* of an element that is moved */
    bool wide;     /* computed in float64 */
    DType grid;
} State;

typedef struct Run {
    const State *state;
    const char *x;
    const void *grid;
    char *y;
} Run;

/* Converts -1 … 1 to elements. float32 is computed in float32, as other implementations do, since
 * the nearest element depends on rounding. */
static double denormalize_f32(float n, int64_t dim, bool corners) {
    const float size = (float)dim;
    if (corners) return (double)((n + 1) / 2 * (size - 1));
    return (double)(((n + 1) * size - 1) / 2);
}

static double denormalize_f64(double n, int64_t dim, bool corners) {
    const double size = (double)dim;
    return corners ? (n + 1) / 2 * (size - 1) : ((n + 1) * size - 1) / 2;
}

static double load(const State *state, const void *grid, int64_t at, int64_t dim) {
    const bool corners = state->sampler.corners;
    const uint16_t *halves = grid;
    if (state->grid == DTYPE_FLOAT64)
        return denormalize_f64(((const double *)grid)[at], dim, corners);
    if (state->grid == DTYPE_FLOAT16)
        return denormalize_f32(scalar_widen_float16(halves[at]), dim, corners);
    if (state->grid == DTYPE_BFLOAT16)
        return denormalize_f32(scalar_widen_bfloat16(halves[at]), dim, corners);
    return denormalize_f32(((const float *)grid)[at], dim, corners);
}

/* The grid's coordinates are in the order innermost dimension first. */
static void find_taps(const Run *run, int64_t first, int64_t count, CpuSamplerTaps *out) {
    const State *state = run->state;
    const uint32_t rank = state->sampler.rank;
    for (int64_t i = 0; i < count; i++) {
        double x[WINDOW_RANK_MAX];
        for (uint32_t d = 0; d < rank; d++)
            x[d] =
                load(state, run->grid, (first + i) * rank + (rank - 1 - d), state->sampler.dims[d]);
        cpu_sampler_taps(&state->sampler, x, out->offsets + i * state->tap_count,
            out->weights + i * state->tap_count);
    }
}

static void move(
    const State *state, const CpuSamplerTaps *taps, int64_t count, const char *x, char *y) {
    for (int64_t i = 0; i < count; i++, y += state->size) {
        const int64_t offset = taps->offsets[i];
        if (offset < 0)
            memset(y, 0, state->size);
        else
            cpu_move(y, x + offset * state->size, state->size);
    }
}

/* A unit is a block of points of one image. */
static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const bool moves = state->sampler.mode == CPU_SAMPLER_NEAREST;
    CpuSamplerTaps taps;
    KernelStopMeter meter = {0};
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t image = unit / state->blocks, first = unit % state->blocks * state->block;
        const int64_t left = state->output_count - first;
        const int64_t count = left < state->block ? left : state->block;
        find_taps(run, image * state->output_count + first, count, &taps);
        for (int64_t c = 0; c < state->channels; c++) {
            const uint64_t work = (uint64_t)(count * state->tap_count) + 16;
            if (kernel_stop_ends_after(&meter, work)) return NULL;
            const int64_t plane = image * state->channels + c;
            const char *x = run->x + plane * state->input_count * state->size;
            char *y = run->y + (plane * state->output_count + first) * state->size;
            if (moves)
                move(state, &taps, count, x, y);
            else if (state->wide)
                cpu_sampler_sum_f64(&taps, state->tap_count, count, (const double *)(const void *)x,
                    (double *)(void *)y);
            else
                cpu_sampler_sum_f32(&taps, state->tap_count, count, (const float *)(const void *)x,
                    (float *)(void *)y);
        }
    }
    return NULL;
}

static Error *sample(CpuDevice *device, const Launch *launch, Run run) {
    const State *state = run.state;
    const int64_t cost = state->block * state->tap_count * (state->channels + 4);
    if (state->units == 0 || state->channels == 0) return NULL;
    return cpu_for_each(device, launch->threads, state->units, (uint64_t)(TAPS_PER_PART / cost) + 1,
        run_units, &run);
}

static Error *run_weighted(const void *state, const CpuFloatCall *call) {
    const Run run = {
        state, (const char *)call->inputs[0], call->inputs[1], (char *)call->outputs[0]};
    return sample(call->device, call->launch, run);
}

static Error *launch_nearest(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const Run run = {
        plan_state(plan), cpu_input(launch, 0), cpu_input(launch, 1), cpu_output(launch, 0)};
    (void)output_shapes;
    return sample(cpu_device(plan->device), launch, run);
}

static CpuSampler sampler_of(const PlanRequest *request) {
    const Shape *x = &request->inputs[0].shape;
    const char *mode = attributes_text(request->attributes, "mode");
    const char *padding = attributes_text(request->attributes, "padding_mode");
    CpuSampler sampler = {
        .rank = x->rank - 2,
        .mode = strcmp(mode, "linear") == 0    ? CPU_SAMPLER_LINEAR
                : strcmp(mode, "nearest") == 0 ? CPU_SAMPLER_NEAREST
                                               : CPU_SAMPLER_CUBIC,
        .padding = strcmp(padding, "zeros") == 0    ? CPU_SAMPLER_ZEROS
                   : strcmp(padding, "border") == 0 ? CPU_SAMPLER_BORDER
                                                    : CPU_SAMPLER_REFLECTION,
        .corners = attributes_int(request->attributes, "align_corners") != 0,
    };
    memcpy(sampler.dims, x->dims + 2, sampler.rank * sizeof(int64_t));
    return sampler;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const DType dtype = request->inputs[0].dtype, grid = request->inputs[1].dtype;
    State state = {
        .sampler = sampler_of(request),
        .channels = x->dims[1],
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(y, 2, y->rank),
        .grid = grid,
        .size = dtype_bits(dtype) / 8,
        .wide = dtype == DTYPE_FLOAT64 || dtype_is_integer(dtype),
    };
    state.tap_count = cpu_sampler_tap_count(&state.sampler);
    state.block = cpu_sampler_block(&state.sampler);
    state.blocks = (state.output_count + state.block - 1) / state.block;
    state.units = (uint64_t)(shape_count_unchecked(y) == 0 ? 0 : x->dims[0] * state.blocks);
    void *opaque;
    if (state.sampler.mode == CPU_SAMPLER_NEAREST) {
        TRY(plan_create(device, request, "cpu.grid_sample", sizeof(State), out));
        (*out)->launch = launch_nearest;
        opaque = plan_state(*out);
    } else {
        state.size = state.wide ? sizeof(double) : sizeof(float);
        if (grid != DTYPE_FLOAT64) state.grid = DTYPE_FLOAT32;
        TRY(cpu_float_plan_create_number(
            device, request, "cpu.grid_sample", sizeof(State), run_weighted, out, &opaque));
    }
    memcpy(opaque, &state, sizeof state);
    return NULL;
}

const Kernel cpu_grid_sample[] = {
    {OPERATOR_GRID_SAMPLE, DTYPES_ANY, plan, "cpu.grid_sample", KERNEL_PORTABLE},
    KERNELS_END,
};
