/* DeformConv: for a block of output pixels the image is sampled at each kernel position, shifted by
 * the offsets; the samples are a matrix of columns, which the weights multiply row by row. float32
 * and half types in float32, float64 in float64. */
#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/vision/cpu_sampler.h"
#include "kernels/cpu/core/cpu_vector.h"

enum { OPERATIONS_PER_PART = 65536 };

typedef struct State {
    CpuSampler sampler;
    Window window;
    int64_t channels, filters; /* of all groups */
    int64_t groups, offset_groups;
    int64_t input_count, output_count, kernel_count; /* of a plane */
    int64_t block, blocks;
    uint64_t units;         /* blocks of all images */
    uint64_t columns_bytes; /* of one part */
    uint32_t tap_count;
    bool has_bias, has_mask, wide;
    void (*add_f32)(const float *x, float weight, int64_t count, float *sums);
    void (*add_f64)(const double *x, double weight, int64_t count, double *sums);
} State;

CPU_INLINE void add_f32_body(
    const float *restrict x, float weight, int64_t count, float *restrict sums) {
    for (int64_t i = 0; i < count; i++) sums[i] += x[i] * weight;
}
CPU_INLINE void add_f64_body(
    const double *restrict x, double weight, int64_t count, double *restrict sums) {
    for (int64_t i = 0; i < count; i++) sums[i] += x[i] * weight;
}
CPU_VARIANTS(
    add_f32, (const float *x, float weight, int64_t count, float *sums), (x, weight, count, sums));
CPU_VARIANTS(add_f64, (const double *x, double weight, int64_t count, double *sums),
    (x, weight, count, sums));

typedef struct Run {
    const State *state;
    const void *x, *w, *offsets, *bias, *mask;
    void *y;
    char *columns;
} Run;

/* Computes the taps of samples. There is a plane of offsets for each group, kernel position and
 * dimension, the dimension innermost. */
static void find_taps(const Run *run, int64_t image, int64_t offset_group, int64_t position,
    int64_t first, int64_t count, CpuSamplerTaps *out) {
    const State *state = run->state;
    const Window *window = &state->window;
    const int64_t rank = window->rank;
    const int64_t group = image * state->offset_groups + offset_group;
    const int64_t plane = (group * state->kernel_count + position) * rank;
    const int64_t mask = (group * state->kernel_count + position) * state->output_count + first;
    for (int64_t i = 0; i < count; i++) {
        double x[WINDOW_RANK_MAX];
        int64_t pixel = first + i, tap = position;
        for (uint32_t d = window->rank; d-- > 0;) {
            const int64_t corner =
                pixel % window->output[d] * window->stride[d] - window->pad_begin[d];
            const int64_t at = corner + tap % window->kernel[d] * window->dilation[d];
            x[d] = (double)at + cpu_float_load(state->wide, run->offsets,
                                    (plane + d) * state->output_count + first + i);
            pixel /= window->output[d];
            tap /= window->kernel[d];
        }
        double *weights = out->weights + i * state->tap_count;
        cpu_sampler_taps(&state->sampler, x, out->offsets + i * state->tap_count, weights);
        if (!run->mask) continue;
        const double factor = cpu_float_load(state->wide, run->mask, mask + i);
        for (uint32_t k = 0; k < state->tap_count; k++) weights[k] *= factor;
    }
}

/* columns [channels, kernel positions, block] */
static void fill_columns(
    const Run *run, int64_t image, int64_t first, int64_t count, char *columns) {
    const State *state = run->state;
    const int64_t per_group = state->channels / state->offset_groups;
    CpuSamplerTaps taps;
    KernelStopMeter meter = {0};
    for (int64_t group = 0; group < state->offset_groups; group++)
        for (int64_t k = 0; k < state->kernel_count; k++) {
            const uint64_t work = (uint64_t)(count * state->tap_count) * (uint64_t)(per_group + 8);
            if (kernel_stop_ends_after(&meter, work)) return;
            find_taps(run, image, group, k, first, count, &taps);
            KERNEL_STOP_EACH (c, group * per_group, (group + 1) * per_group) {
                const int64_t x = (image * state->channels + c) * state->input_count;
                const int64_t to = (c * state->kernel_count + k) * state->block;
                if (state->wide)
                    cpu_sampler_sum_f64(&taps, state->tap_count, count, (const double *)run->x + x,
                        (double *)(void *)columns + to);
                else
                    cpu_sampler_sum_f32(&taps, state->tap_count, count, (const float *)run->x + x,
                        (float *)(void *)columns + to);
            }
        }
}

#define MULTIPLY(name, T)                                                                          \
    static void multiply_##name(                                                                   \
        const Run *run, int64_t filter, const char *columns_, int64_t to, int64_t count) {         \
        const State *state = run->state;                                                           \
        const int64_t depth = state->channels / state->groups * state->kernel_count;               \
        const int64_t group = filter / (state->filters / state->groups);                           \
        const T *columns = (const T *)(const void *)columns_ + group * depth * state->block;       \
        const T *weights = (const T *)run->w + filter * depth;                                     \
        T *sums = (T *)run->y + to;                                                                \
        for (int64_t i = 0; i < count; i++)                                                        \
            sums[i] = run->bias ? ((const T *)run->bias)[filter] : 0;                              \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            if (k % 256 == 0 && kernel_stop_ends()) return;                                        \
            state->add_##name(columns + k * state->block, weights[k], count, sums);                \
        }                                                                                          \
    }
MULTIPLY(f32, float)
MULTIPLY(f64, double)

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    char *columns = run->columns + part * state->columns_bytes;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t image = unit / state->blocks, first = unit % state->blocks * state->block;
        const int64_t left = state->output_count - first;
        const int64_t count = left < state->block ? left : state->block;
        fill_columns(run, image, first, count, columns);
        for (int64_t filter = 0; filter < state->filters; filter++) {
            const int64_t to = (image * state->filters + filter) * state->output_count + first;
            if (state->wide)
                multiply_f64(run, filter, columns, to, count);
            else
                multiply_f32(run, filter, columns, to, count);
        }
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->inputs[1], call->inputs[2],
        state->has_bias ? call->inputs[3] : NULL, state->has_mask ? call->inputs[4] : NULL,
        call->outputs[0], call->workspace};
    if (state->units == 0) return NULL;
    const int64_t cost = state->block * state->channels * state->kernel_count *
                             (state->filters / state->groups + state->tap_count) +
                         1;
    return cpu_for_each(call->device, call->launch->threads, state->units,
        (uint64_t)(OPERATIONS_PER_PART / cost) + 1, run_units, &run);
}

static Error *set_workspace(State *state, Plan *plan) {
    const uint64_t parts = state->units < CPU_THREADS_MAX ? state->units : CPU_THREADS_MAX;
    uint64_t bytes;
    if (!checked_mul_u64((uint64_t)state->channels, (uint64_t)state->kernel_count, &bytes) ||
        !checked_mul_u64(bytes, (uint64_t)state->block * sizeof(double), &state->columns_bytes) ||
        !checked_mul_u64(state->columns_bytes, parts, &bytes))
        FAIL(EXHAUSTED, "the columns of DeformConv");
    cpu_float_plan_set_workspace(plan, bytes);
    return NULL;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    State state = {
        .channels = x->dims[1],
        .filters = y->dims[1],
        .groups = attributes_int(request->attributes, "group"),
        .offset_groups = attributes_int(request->attributes, "offset_group"),
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(y, 2, y->rank),
        .kernel_count = shape_product(&request->inputs[1].shape, 2, x->rank),
        .has_bias = plan_request_has(request, 3),
        .has_mask = plan_request_has(request, 4),
        .wide = request->inputs[0].dtype == DTYPE_FLOAT64,
        .add_f32 = add_f32_for(level),
        .add_f64 = add_f64_for(level),
    };
    TRY(window_of(request, &state.window));
    state.sampler = (CpuSampler){.rank = x->rank - 2, .mode = CPU_SAMPLER_LINEAR};
    memcpy(state.sampler.dims, x->dims + 2, state.sampler.rank * sizeof(int64_t));
    state.tap_count = cpu_sampler_tap_count(&state.sampler);
    state.block = cpu_sampler_block(&state.sampler);
    state.blocks = (state.output_count + state.block - 1) / state.block;
    if (shape_count_unchecked(y) > 0) state.units = (uint64_t)(y->dims[0] * state.blocks);
    OWN(Plan, plan) = NULL;
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.deform_conv", sizeof(State), run, &plan, &opaque));
    TRY(set_workspace(&state, plan));
    memcpy(opaque, &state, sizeof state);
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_deform_conv[] = {
    {OPERATOR_DEFORM_CONV, DTYPES_FLOAT, plan, "cpu.deform_conv", KERNEL_PORTABLE},
    KERNELS_END,
};
