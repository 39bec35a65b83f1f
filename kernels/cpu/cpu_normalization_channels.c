/* BatchNormalization (inference) and LRN: each channel of an image [N, C, …] is scaled. The bits
 * are the same at every instruction set. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_float_plan.h"
#include "kernels/cpu/cpu_loops.h"
#include "kernels/cpu/cpu_vector.h"

/* ---- BatchNormalization ---- */

/* y = (x - mean) * factor + bias over pixels of one channel, or over channels of one pixel. */
CPU_INLINE void scale_pixels_body(
    const float *x, int64_t count, float mean, float factor, float bias, float *y) {
    for (int64_t i = 0; i < count; i += CPU_VECTOR_LANES) {
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

static Error *batch_run(const void *opaque, const CpuFloatCall *call, bool *out_abandoned) {
    (void)out_abandoned;
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

/* ---- LRN ---- */

enum { LRN_PIXELS = 512 }; /* of a unit */

/* to[i] = bias + factor * (sum of squares of the channels first … last, in that order) */
CPU_INLINE void square_sums_body(const float *x, int64_t channels, int64_t channel_step,
    int64_t count, float factor, float bias, float *to) {
    for (int64_t i = 0; i < count; i += CPU_VECTOR_LANES) {
        CpuF32x16 sum = {0};
        for (int64_t c = 0; c < channels; c++) {
            const CpuF32x16 value = cpu_f32x16_load_part(x + c * channel_step + i, count - i, 0);
            sum += value * value;
        }
        cpu_f32x16_store_part(to + i, count - i, sum * factor + bias);
    }
}
CPU_VARIANTS(square_sums,
    (const float *x, int64_t channels, int64_t channel_step, int64_t count, float factor,
        float bias, float *to),
    (x, channels, channel_step, count, factor, bias, to));

typedef struct LrnState {
    int64_t batch, channels, pixels;
    int64_t before, after; /* neighbours of a channel */
    float factor, bias, beta;
    CpuLoop *power, *divide;
    void (*square_sums)(const float *x, int64_t channels, int64_t channel_step, int64_t count,
        float factor, float bias, float *to);
} LrnState;

typedef struct LrnRun {
    const LrnState *state;
    const float *x;
    float *y;
    int64_t blocks;
} LrnRun;

static Error *lrn_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const LrnRun *run = context;
    const LrnState *state = run->state;
    const CpuParameters none = {0};
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t pixel = i % run->blocks * LRN_PIXELS;
        const int64_t image = i / run->blocks / state->channels;
        const int64_t channel = i / run->blocks % state->channels;
        const int64_t left = state->pixels - pixel;
        const int64_t count = left < LRN_PIXELS ? left : LRN_PIXELS;
        const int64_t first = channel > state->before ? channel - state->before : 0;
        int64_t last = channel + state->after;
        if (last > state->channels - 1) last = state->channels - 1;
        const float *x = run->x + image * state->channels * state->pixels + pixel;
        float sums[LRN_PIXELS];
        state->square_sums(x + first * state->pixels, last - first + 1, state->pixels, count,
            state->factor, state->bias, sums);
        const CpuOperand power[2] = {{sums, 1}, {&state->beta, 0}};
        state->power(sums, power, count, &none);
        const CpuOperand divide[2] = {{x + channel * state->pixels, 1}, {sums, 1}};
        state->divide(run->y + (x - run->x) + channel * state->pixels, divide, count, &none);
    }
    return NULL;
}

static Error *lrn_run(const void *opaque, const CpuFloatCall *call, bool *out_abandoned) {
    (void)out_abandoned;
    const LrnState *state = opaque;
    if (state->batch * state->channels * state->pixels == 0) return NULL;
    LrnRun run = {
        state, call->inputs[0], call->outputs[0], (state->pixels + LRN_PIXELS - 1) / LRN_PIXELS};
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->batch * state->channels * run.blocks), 16, lrn_units, &run);
}

static Error *plan_lrn(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const Attributes *attributes = request->attributes;
    const int64_t size = attributes_int(attributes, "size");
    const CpuLevel level = cpu_device(device)->level;
    void *opaque;
    TRY(cpu_float_plan_create(device, request, "cpu.lrn", sizeof(LrnState), lrn_run, out, &opaque));
    LrnState *state = opaque;
    state->batch = x->dims[0];
    state->channels = x->dims[1];
    state->pixels = shape_product(x, 2, x->rank);
    state->before = (size - 1) / 2;
    state->after = size - 1 - state->before;
    state->factor = (float)(attributes_float(attributes, "alpha") / (double)size);
    state->bias = (float)attributes_float(attributes, "bias");
    state->beta = (float)attributes_float(attributes, "beta");
    state->power = cpu_loop_find(level, CPU_LOOP_POW, DTYPE_FLOAT32);
    state->divide = cpu_loop_find(level, CPU_LOOP_DIV, DTYPE_FLOAT32);
    state->square_sums = square_sums_for(level);
    return NULL;
}

const Kernel cpu_normalization_channels[] = {
    {OPERATOR_BATCH_NORMALIZATION, DTYPES_FLOAT32_AND_HALF, plan_batch, "cpu.batch_normalization",
        KERNEL_PORTABLE},
    {OPERATOR_LRN, DTYPES_FLOAT32_AND_HALF, plan_lrn, "cpu.lrn", KERNEL_PORTABLE},
    KERNELS_END,
};
