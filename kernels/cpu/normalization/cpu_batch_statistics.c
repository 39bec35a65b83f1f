/* BatchNormalization in training: each channel of [N, C, …] is normalized by its own mean and
 * variance, which then update the running ones. Sums are kept in float64. */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/scalar/scalar_base.h"

typedef struct State {
    int64_t batch, channels, pixels;
    double epsilon, momentum;
    bool wide; /* true: float64, false: float32 */
    bool mean_wanted, variance_wanted;
} State;

typedef struct Run {
    const State *state;
    const CpuFloatCall *call;
} Run;

/* y may be x. Runs `statement` for every element `at` of the channel. */
#define EACH_PIXEL(state, channel, at, statement)                                                  \
    for (int64_t image = 0; image < (state)->batch && !kernel_stop_ends(); image++)                \
        KERNEL_STOP_EACH (at, (image * (state)->channels + (channel)) * (state)->pixels,           \
            (image * (state)->channels + (channel) + 1) * (state)->pixels)                         \
    statement

#define BATCH_STATISTICS(name, T, s)                                                               \
    static void run_channel_##name(const Run *run, int64_t channel) {                              \
        const State *state = run->state;                                                           \
        const CpuFloatCall *call = run->call;                                                      \
        const T *x = (const void *)call->inputs[0];                                                \
        T *y = (void *)call->outputs[0];                                                           \
        const double count = (double)(state->batch * state->pixels);                               \
        double mean = 0, variance = 0;                                                             \
        EACH_PIXEL(state, channel, at, mean += (double)x[at]);                                     \
        mean /= count;                                                                             \
        EACH_PIXEL(                                                                                \
            state, channel, at, variance += ((double)x[at] - mean) * ((double)x[at] - mean));      \
        variance /= count;                                                                         \
        const double factor = (double)((const T *)(const void *)call->inputs[1])[channel] /        \
                              sqrt(variance + state->epsilon);                                     \
        const double bias = (double)((const T *)(const void *)call->inputs[2])[channel];           \
        EACH_PIXEL(state, channel, at,                                                             \
            y[at] = scalar_canonical_##s((T)(((double)x[at] - mean) * factor + bias)));            \
        if (state->mean_wanted)                                                                    \
            ((T *)(void *)call->outputs[1])[channel] =                                             \
                (T)move(state, ((const T *)(const void *)call->inputs[3])[channel], mean);         \
        if (state->variance_wanted)                                                                \
            ((T *)(void *)call->outputs[2])[channel] =                                             \
                (T)move(state, ((const T *)(const void *)call->inputs[4])[channel], variance);     \
    }

static double move(const State *state, double running, double current) {
    return scalar_canonical_f64(running * state->momentum + current * (1 - state->momentum));
}
BATCH_STATISTICS(float32, float, f32)
BATCH_STATISTICS(float64, double, f64)

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (int64_t channel = (int64_t)begin; channel < (int64_t)end; channel++) {
        if (run->state->wide)
            run_channel_float64(run, channel);
        else
            run_channel_float32(run, channel);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call};
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)state->channels,
        (uint64_t)(16384 / (state->batch * state->pixels + 1)) + 1, run_units, &run);
}

static Error *plan_training(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    if (attributes_int(request->attributes, "training_mode") == 0) return cpu_decline(out);
    if (!cpu_float_plan_takes(request)) return cpu_decline(out);
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.batch_statistics", sizeof(State), run, out, &opaque));
    State *state = opaque;
    state->batch = x->dims[0];
    state->channels = x->dims[1];
    state->pixels = shape_product(x, 2, x->rank);
    state->epsilon = attributes_float(request->attributes, "epsilon");
    state->momentum = attributes_float(request->attributes, "momentum");
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    state->mean_wanted = request->output_count > 1 && request->outputs[1].present;
    state->variance_wanted = request->output_count > 2 && request->outputs[2].present;
    return NULL;
}

const Kernel cpu_batch_statistics[] = {
    {OPERATOR_BATCH_NORMALIZATION, DTYPES_FLOAT, plan_training, "cpu.batch_statistics",
        KERNEL_PORTABLE},
    KERNELS_END,
};
