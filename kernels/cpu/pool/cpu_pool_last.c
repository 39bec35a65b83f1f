/* FusedPool: pools over images [N, spatial…, C]. A window's pixels are combined channel by channel,
 * in the order of the kernel, by vectors of channels: the bits are the same at every instruction
 * set. */
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/pool/cpu_pool_images.h"
#include "kernels/cpu/pool/cpu_pool_lanes.h"
#include "kernels/arguments/channels_first.h"

enum {
    PIXELS_MAX = 256, /* pixels of a window that are combined at a time */
};

/* Combines the pixels at x + offsets[i] into y. more: y already has a partial result. */
typedef void CombinePixels(
    const float *x, const int64_t *offsets, int64_t count, int64_t channels, bool more, float *y);

/* Four vectors of channels at once, then one; the remaining channels go to narrower vectors. */
#define DEFINE_COMBINE(name, TARGET, Vector, LANES, ALL, LOAD, STORE, COMBINE, start, rest)        \
    TARGET static void name(const float *x, const int64_t *offsets, int64_t count,                 \
        int64_t channels, bool more, float *y) {                                                   \
        int64_t at = 0;                                                                            \
        for (; at + 4 * (LANES) <= channels; at += 4 * (LANES)) {                                  \
            Vector a = more ? LOAD(y + at) : ALL(start);                                           \
            Vector b = more ? LOAD(y + at + (LANES)) : ALL(start);                                 \
            Vector c = more ? LOAD(y + at + 2 * (LANES)) : ALL(start);                             \
            Vector d = more ? LOAD(y + at + 3 * (LANES)) : ALL(start);                             \
            for (int64_t i = 0; i < count; i++) {                                                  \
                const float *from = x + offsets[i] + at;                                           \
                a = COMBINE(a, LOAD(from));                                                        \
                b = COMBINE(b, LOAD(from + (LANES)));                                              \
                c = COMBINE(c, LOAD(from + 2 * (LANES)));                                          \
                d = COMBINE(d, LOAD(from + 3 * (LANES)));                                          \
            }                                                                                      \
            STORE(y + at, a);                                                                      \
            STORE(y + at + (LANES), b);                                                            \
            STORE(y + at + 2 * (LANES), c);                                                        \
            STORE(y + at + 3 * (LANES), d);                                                        \
        }                                                                                          \
        for (; at + (LANES) <= channels; at += (LANES)) {                                          \
            Vector a = more ? LOAD(y + at) : ALL(start);                                           \
            for (int64_t i = 0; i < count; i++) a = COMBINE(a, LOAD(x + offsets[i] + at));         \
            STORE(y + at, a);                                                                      \
        }                                                                                          \
        if (at < channels) rest(x + at, offsets, count, channels - at, more, y + at);              \
    }                                                                                              \
    struct combine_needs_semicolon

static void nothing_left(
    const float *x, const int64_t *offsets, int64_t count, int64_t channels, bool more, float *y) {
    (void)x, (void)offsets, (void)count, (void)channels, (void)more, (void)y;
}

DEFINE_COMBINE(
    maxima_1, , float, 1, ALL_1, LOAD_1, STORE_1, max_1, -__builtin_inff(), nothing_left);
DEFINE_COMBINE(sums_1, , float, 1, ALL_1, LOAD_1, STORE_1, sum_1, 0.0f, nothing_left);
#if defined(__x86_64__)
DEFINE_COMBINE(maxima_8, CPU_TARGET_AVX2, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps,
    _mm256_storeu_ps, max_8, -__builtin_inff(), maxima_1);
DEFINE_COMBINE(sums_8, CPU_TARGET_AVX2, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps,
    _mm256_storeu_ps, _mm256_add_ps, 0.0f, sums_1);
DEFINE_COMBINE(maxima_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps,
    _mm512_storeu_ps, max_16, -__builtin_inff(), maxima_8);
DEFINE_COMBINE(sums_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps,
    _mm512_storeu_ps, _mm512_add_ps, 0.0f, sums_8);
#endif

static CombinePixels *combine_for(CpuLevel level, bool is_average) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return is_average ? sums_16 : maxima_16;
    if (level == CPU_LEVEL_AVX2) return is_average ? sums_8 : maxima_8;
#endif
    (void)level;
    return is_average ? sums_1 : maxima_1;
}

CPU_INLINE void divide_pixel_body(float *y, int64_t channels, float count) {
    for (int64_t c = 0; c < channels; c += CPU_VECTOR_LANES)
        cpu_f32x16_store_part(
            y + c, channels - c, cpu_f32x16_load_part(y + c, channels - c, 0) / count);
}
CPU_VARIANTS(divide_pixel, (float *y, int64_t channels, float count), (y, channels, count));

typedef struct PoolState {
    CpuPoolImages of;
    bool is_average, include_padding;
    int64_t inside[PIXELS_MAX]; /* offsets of a whole window's pixels, if they fit */
    CombinePixels *combine;
    void (*divide)(float *y, int64_t channels, float count);
} PoolState;

typedef struct Run {
    const PoolState *state;
    const float *x;
    float *y;
} Run;

/* The corner of an output's window in the input; the corner may be in the padding. */
static void corner_of(const Window *window, int64_t output, int64_t *corner) {
    for (uint32_t i = window->rank; i-- > 0; output /= window->output[i])
        corner[i] = output % window->output[i] * window->stride[i] - window->pad_begin[i];
}

/* The pixel that a kernel position sees. */
static int64_t pixel_offset(const Window *window, const int64_t *corner, int64_t position) {
    int64_t pixel = 0, step = 1;
    for (uint32_t i = window->rank; i-- > 0; position /= window->kernel[i]) {
        const int64_t at = corner[i] + position % window->kernel[i] * window->dilation[i];
        pixel += at * step;
        step *= window->input[i];
    }
    return pixel;
}

/* The pixel's offset, or -1 if it lies in the padding. */
static int64_t pixel_at(const Window *window, const int64_t *corner, int64_t position) {
    int64_t rest = position;
    for (uint32_t i = window->rank; i-- > 0; rest /= window->kernel[i]) {
        const int64_t at = corner[i] + rest % window->kernel[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return -1;
    }
    return pixel_offset(window, corner, position);
}

static int64_t counted(const PoolState *state, const int64_t *corner) {
    int64_t product = 1;
    for (uint32_t i = 0; i < state->of.window.rank; i++)
        product *= window_count_positions(&state->of.window, i, corner[i], state->include_padding);
    return product;
}

static bool is_inside(const Window *window, const int64_t *corner) {
    for (uint32_t i = 0; i < window->rank; i++)
        if (corner[i] < 0 ||
            corner[i] + (window->kernel[i] - 1) * window->dilation[i] >= window->input[i])
            return false;
    return true;
}

/* Combines groups of channels, so that the stop is checked between groups. */
static void combine(const PoolState *state, const float *x, const int64_t *offsets, int64_t count,
    bool more, float *y) {
    for (int64_t begin = 0, end; begin < state->of.channels; begin = end) {
        end = kernel_stop_piece(begin, state->of.channels);
        state->combine(x + begin, offsets, count, end - begin, more, y + begin);
        if (end < state->of.channels && kernel_stop_ends()) return;
    }
}

static void divide(const PoolState *state, float *y, int64_t count) {
    for (int64_t begin = 0, end; begin < state->of.channels; begin = end) {
        end = kernel_stop_piece(begin, state->of.channels);
        state->divide(y + begin, end - begin, (float)count);
        if (end < state->of.channels && kernel_stop_ends()) return;
    }
}

/* Pools a window that is large or reaches into the padding. */
static void pool_edge(const PoolState *state, const float *x, const int64_t *corner, float *y) {
    int64_t offsets[PIXELS_MAX], count = 0;
    KernelStopMeter meter = {0};
    bool more = false;
    for (int64_t position = 0; position < state->of.kernel_count; position++) {
        const int64_t pixel = pixel_at(&state->of.window, corner, position);
        if (pixel >= 0) offsets[count++] = pixel * state->of.channels;
        if (count < PIXELS_MAX && position + 1 < state->of.kernel_count) continue;
        combine(state, x, offsets, count, more, y);
        if (kernel_stop_ends_after(&meter, PIXELS_MAX * ((uint64_t)state->of.channels + 32)))
            return;
        more = true;
        count = 0;
    }
    if (state->is_average) divide(state, y, counted(state, corner));
}

static void pool_inside(const PoolState *state, const float *x, const int64_t *corner, float *y) {
    const Window *window = &state->of.window;
    int64_t pixel = 0;
    for (uint32_t i = 0; i < window->rank; i++) pixel = pixel * window->input[i] + corner[i];
    combine(state, x + pixel * state->of.channels, state->inside, state->of.kernel_count, false, y);
    if (state->is_average) divide(state, y, state->of.kernel_count);
}

/* A row of outputs. */
static void pool_row(const PoolState *state, const float *x, int64_t first, float *y) {
    const Window *window = &state->of.window;
    const uint32_t last = window->rank - 1;
    int64_t corner[WINDOW_RANK_MAX];
    corner_of(window, first, corner);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->of.width; i++) {
        const uint64_t work = (uint64_t)(state->of.channels + 8) * PIXELS_MAX / 4;
        if (kernel_stop_ends_after(&meter, work)) return;
        if (state->of.kernel_count <= PIXELS_MAX && is_inside(window, corner))
            pool_inside(state, x, corner, y + i * state->of.channels);
        else
            pool_edge(state, x, corner, y + i * state->of.channels);
        corner[last] += window->stride[last];
    }
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const PoolState *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t image = i / state->of.rows, first = i % state->of.rows * state->of.width;
        const float *x = run->x + image * state->of.input_count * state->of.channels;
        float *y = run->y + (image * state->of.output_count + first) * state->of.channels;
        pool_row(state, x, first, y);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const PoolState *state = opaque;
    if (state->of.images * state->of.output_count * state->of.channels == 0) return NULL;
    static const float nothing = 0; /* stands for an image of size 0, which has no address */
    Run run = {state, call->inputs[0] ? call->inputs[0] : &nothing, call->outputs[0]};
    const int64_t cost = state->of.width * state->of.kernel_count * state->of.channels;
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->of.images * state->of.rows), (uint64_t)(131072 / (cost + 1)) + 1,
        run_rows, &run);
}

/* The whole image is the window. */
static Window whole(const Shape *first) {
    Window window = {.rank = first->rank - 2};
    for (uint32_t i = 0; i < window.rank; i++) {
        window.kernel[i] = window.input[i] = first->dims[i + 2];
        window.stride[i] = window.dilation[i] = window.output[i] = 1;
    }
    return window;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    ChannelsFirst first;
    OperatorId pool;
    Window window;
    void *opaque;
    TRY(channels_last_pool(request, &pool));
    channels_first_of(request, &first);
    first.request.operator_info = operator_get(pool);
    const Shape *x = &first.inputs[0].shape, *y = &first.request.outputs[0].shape;
    const bool is_global = pool == OPERATOR_GLOBAL_AVERAGE_POOL || pool == OPERATOR_GLOBAL_MAX_POOL;
    if (is_global)
        window = whole(x);
    else
        TRY(window_of(&first.request, &window));
    TRY(cpu_float_plan_create(
        device, request, "cpu.pool_last", sizeof(PoolState), run, out, &opaque));
    PoolState *state = opaque;
    state->of = cpu_pool_images(&window, x, y);
    const int64_t origin[WINDOW_RANK_MAX] = {0};
    for (int64_t i = 0; i < state->of.kernel_count && i < PIXELS_MAX; i++)
        state->inside[i] = pixel_offset(&window, origin, i) * state->of.channels;
    state->is_average = pool == OPERATOR_AVERAGE_POOL || pool == OPERATOR_GLOBAL_AVERAGE_POOL;
    state->include_padding =
        !is_global && attributes_int(request->attributes, "count_include_pad") != 0;
    state->combine = combine_for(level, state->is_average);
    state->divide = divide_pixel_for(level);
    return NULL;
}

const Kernel cpu_pool_last[] = {
    {OPERATOR_FUSED_POOL, DTYPES_FLOAT32_AND_HALF, plan, "cpu.pool_last", KERNEL_PORTABLE},
    KERNELS_END,
};
