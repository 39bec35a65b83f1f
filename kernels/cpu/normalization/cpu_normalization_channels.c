/* BatchNormalization (inference): each channel of an image [N, C, …] is scaled. The bits are the
 * same at every instruction set. */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/loops/cpu_loops.h"
#include "kernels/cpu/core/cpu_vector.h"

/* y = (x - mean) * factor + bias over pixels of one channel, or over channels of one pixel. */
CPU_INLINE void scale_pixels_body(
    const float *x, int64_t count, float mean, float factor, float bias, float *y) {
    KERNEL_STOP_EVERY (i, 0, count, CPU_VECTOR_LANES) {
        const CpuF32x16 value = cpu_f32x16_load_part(x + i, count - i, 0);
        cpu_f32x16_store_part(y + i, count - i, (value - mean) * factor + bias);
    }
}
CPU_VARIANTS(scale_pixels,
    (const float *x, int64_t count, float mean, float factor, float bias, float *y),
    (x, count, mean, factor, bias, y));

typedef struct BatchState {
    int64_t batch, channels, pixels;
    float epsilon;
    void (*scale_pixels)(
        const float *x, int64_t count, float mean, float factor, float bias, float *y);
} BatchState;

typedef struct BatchRun {
    const BatchState *state;
    const float *x, *scale, *bias, *mean, *variance;
    float *y;
} BatchRun;

static float factor_of(const BatchRun *run, int64_t channel) {
    return run->scale[channel] / sqrtf(run->variance[channel] + run->state->epsilon);
}

static Error *batch_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const BatchRun *run = context;
    const BatchState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t channel = i % state->channels, at = i * state->pixels;
        const float mean = run->mean[channel], factor = factor_of(run, channel);
        if (state->pixels == 1)
            run->y[at] = (run->x[at] - mean) * factor + run->bias[channel];
        else
            state->scale_pixels(
                run->x + at, state->pixels, mean, factor, run->bias[channel], run->y + at);
    }
    return NULL;
}

static Error *batch_run(const void *opaque, const CpuFloatCall *call) {
    const BatchState *state = opaque;
    BatchRun run = {state, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3],
        call->inputs[4], call->outputs[0]};
    if (state->pixels == 0) return NULL;
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->batch * state->channels), (uint64_t)(65536 / state->pixels) + 1,
        batch_units, &run);
}

static Error *plan_batch(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    void *opaque;
    if (attributes_int(request->attributes, "training_mode") != 0) return cpu_decline(out);
    if (!cpu_float_plan_takes(request)) return cpu_decline(out);
    TRY(cpu_float_plan_create(
        device, request, "cpu.batch_normalization", sizeof(BatchState), batch_run, out, &opaque));
    BatchState *state = opaque;
    state->batch = x->dims[0];
    state->channels = x->rank > 1 ? x->dims[1] : 1;
    state->pixels = x->rank > 2 ? shape_product(x, 2, x->rank) : 1;
    state->epsilon = (float)attributes_float(request->attributes, "epsilon");
    state->scale_pixels = scale_pixels_for(cpu_device(device)->level);
    return NULL;
}

const Kernel cpu_normalization_channels[] = {
    {OPERATOR_BATCH_NORMALIZATION, DTYPES_FLOAT32_AND_HALF, plan_batch, "cpu.batch_normalization",
        KERNEL_PORTABLE},
    KERNELS_END,
};
