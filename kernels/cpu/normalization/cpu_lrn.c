/* LRN over images [N, C, …], by rows of pixels of one channel, and FusedLRN over images [N, …, C],
 * by rows of channels of one pixel. Squares are added up in the order of the channels: both have
 * the same bits, at every instruction set. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/cpu/core/cpu_vector.h"

enum { ROW = 512, NEIGHBOURS_MAX = 64, ELEMENTS_PER_PART = 8192 };

/* to[i] = bias + factor * (sum of squares of the channels first … last, in that order), channels
 * `step` apart */
CPU_INLINE void square_sums_body(const float *x, int64_t channels, int64_t step, int64_t count,
    float factor, float bias, float *to) {
    for (int64_t i = 0; i < count; i += CPU_VECTOR_LANES) {
        CpuF32x16 sum = {0};
        KERNEL_STOP_EACH (c, 0, channels) {
            const CpuF32x16 value = cpu_f32x16_load_part(x + c * step + i, count - i, 0);
            sum += value * value;
        }
        cpu_f32x16_store_part(to + i, count - i, sum * factor + bias);
    }
}
CPU_VARIANTS(square_sums,
    (const float *x, int64_t channels, int64_t step, int64_t count, float factor, float bias,
        float *to),
    (x, channels, step, count, factor, bias, to));

typedef struct LrnState {
    int64_t images, channels, pixels;
    /* size: a channel with its neighbours; before: the neighbours before the channel */
    int64_t size, before;
    float factor, bias, beta;
    CpuLoop *power, *root, *multiply, *divide;
    void (*square_sums)(const float *x, int64_t channels, int64_t step, int64_t count, float factor,
        float bias, float *to);
} LrnState;

typedef struct LrnRun {
    const LrnState *state;
    const float *x;
    float *y;
    int64_t rows; /* rows of a channel, or of a pixel */
} LrnRun;

/* y = x / sums^beta. The usual beta is 3/4: then the product of the square root and the fourth
 * root, each exactly rounded, takes a thirtieth of a power's time. */
static void divide_row(
    const LrnState *state, const float *x, float *sums, int64_t count, float *y) {
    const CpuParameters none = {0};
    if (state->beta != 0.75F) {
        const CpuOperand power[2] = {{sums, 1}, {&state->beta, 0}};
        state->power(sums, power, count, &none);
    } else {
        float roots[ROW];
        const CpuOperand operands[2] = {{sums, 1}, {roots, 1}};
        state->root(roots, operands, count, &none);
        state->root(sums, operands + 1, count, &none);
        state->multiply(sums, operands, count, &none);
    }
    const CpuOperand divide[2] = {{x, 1}, {sums, 1}};
    state->divide(y, divide, count, &none);
}

/* Computes up to ROW pixels of one channel. */
static Error *run_planes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const LrnRun *run = context;
    const LrnState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t pixel = i % run->rows * ROW, left = state->pixels - pixel;
        const int64_t image = i / run->rows / state->channels;
        const int64_t channel = i / run->rows % state->channels;
        const int64_t count = left < ROW ? left : ROW;
        const int64_t first = channel > state->before ? channel - state->before : 0;
        int64_t end_channel = channel - state->before + state->size;
        if (end_channel > state->channels) end_channel = state->channels;
        const int64_t start = image * state->channels * state->pixels + pixel;
        const int64_t at = start + channel * state->pixels;
        float sums[ROW];
        state->square_sums(run->x + start + first * state->pixels, end_channel - first,
            state->pixels, count, state->factor, state->bias, sums);
        divide_row(state, run->x + at, sums, count, run->y + at);
    }
    return NULL;
}

/* Computes up to ROW channels of one pixel, with zeros beyond the channels. */
static void run_channels(
    const LrnState *state, const float *x, int64_t first, int64_t count, float *y) {
    float row[ROW + NEIGHBOURS_MAX], sums[ROW];
    for (int64_t i = 0; i < count + state->size - 1; i++) {
        const int64_t channel = first - state->before + i;
        row[i] = channel >= 0 && channel < state->channels ? x[channel] : 0;
    }
    state->square_sums(row, state->size, 1, count, state->factor, state->bias, sums);
    divide_row(state, x + first, sums, count, y + first);
}

static Error *run_pixels(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const LrnRun *run = context;
    const LrnState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t at = i / run->rows * state->channels, first = i % run->rows * ROW;
        const int64_t left = state->channels - first;
        run_channels(state, run->x + at, first, left < ROW ? left : ROW, run->y + at);
    }
    return NULL;
}

static Error *run(
    const LrnState *state, const CpuFloatCall *call, int64_t row, int64_t others, CpuTask *task) {
    if (state->images * state->channels * state->pixels == 0) return NULL;
    LrnRun run = {state, call->inputs[0], call->outputs[0], (row + ROW - 1) / ROW};
    const int64_t neighbours = state->size < state->channels ? state->size : state->channels;
    const int64_t elements = (row < ROW ? row : ROW) * (neighbours / 16 + 1);
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)(others * run.rows),
        (uint64_t)(ELEMENTS_PER_PART / elements) + 1, task, &run);
}

static Error *run_first(const void *opaque, const CpuFloatCall *call) {
    const LrnState *state = opaque;
    return run(state, call, state->pixels, state->images * state->channels, run_planes);
}

static Error *run_last(const void *opaque, const CpuFloatCall *call) {
    const LrnState *state = opaque;
    return run(state, call, state->channels, state->images * state->pixels, run_pixels);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const Attributes *attributes = request->attributes;
    const int64_t size = attributes_int(attributes, "size");
    const CpuLevel level = cpu_device(device)->level;
    const bool last = request->operator_info->id == OPERATOR_FUSED_LRN;
    void *opaque;
    if (last && size > NEIGHBOURS_MAX) return cpu_decline(out);
    TRY(cpu_float_plan_create(device, request, last ? "cpu.lrn_last" : "cpu.lrn", sizeof(LrnState),
        last ? run_last : run_first, out, &opaque));
    LrnState *state = opaque;
    state->images = x->dims[0];
    state->channels = x->dims[last ? x->rank - 1 : 1];
    state->pixels = last ? shape_product(x, 1, x->rank - 1) : shape_product(x, 2, x->rank);
    state->size = size;
    state->before = (size - 1) / 2;
    state->factor = (float)(attributes_float(attributes, "alpha") / (double)size);
    state->bias = (float)attributes_float(attributes, "bias");
    state->beta = (float)attributes_float(attributes, "beta");
    state->power = cpu_loop_find(level, CPU_LOOP_POW, DTYPE_FLOAT32);
    state->root = cpu_loop_find(level, CPU_LOOP_SQRT, DTYPE_FLOAT32);
    state->multiply = cpu_loop_find(level, CPU_LOOP_MUL, DTYPE_FLOAT32);
    state->divide = cpu_loop_find(level, CPU_LOOP_DIV, DTYPE_FLOAT32);
    state->square_sums = square_sums_for(level);
    return NULL;
}

const Kernel cpu_lrn[] = {
    {OPERATOR_LRN, DTYPES_FLOAT32_AND_HALF, plan, "cpu.lrn", KERNEL_PORTABLE},
    {OPERATOR_FUSED_LRN, DTYPES_FLOAT32_AND_HALF, plan, "cpu.lrn_last", KERNEL_PORTABLE},
    KERNELS_END,
};
