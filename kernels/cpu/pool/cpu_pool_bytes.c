/* FusedPool's MaxPool over images of bytes [N, spatial…, C], by vectors of channels. */
#include <string.h>

#include "kernels/arguments/channels_first.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/pool/cpu_pool_images.h"

typedef void LargerBytes(const uint8_t *x, int64_t count, uint8_t *y);

typedef struct State {
    CpuPoolImages of;
    uint8_t least; /* of the type */
    LargerBytes *larger;
} State;

typedef struct Run {
    const State *state;
    const uint8_t *x;
    uint8_t *y;
} Run;

#define DEFINE_LARGER(name, T)                                                                     \
    CPU_INLINE void name##_body(const uint8_t *x, int64_t count, uint8_t *y) {                     \
        const T *from = (const T *)x;                                                              \
        T *to = (T *)y;                                                                            \
        for (int64_t i = 0; i < count; i++) to[i] = from[i] > to[i] ? from[i] : to[i];             \
    }                                                                                              \
    CPU_VARIANTS(name, (const uint8_t *x, int64_t count, uint8_t *y), (x, count, y))
DEFINE_LARGER(larger_signed, int8_t);
DEFINE_LARGER(larger_unsigned, uint8_t);

/* The pixel that a kernel position sees; -1 beside the image. */
static int64_t pixel_at(const Window *window, int64_t output, int64_t position) {
    int64_t pixel = 0, step = 1;
    for (uint32_t i = window->rank; i-- > 0;) {
        const int64_t at = output % window->output[i] * window->stride[i] - window->pad_begin[i] +
                           position % window->kernel[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return -1;
        pixel += at * step;
        step *= window->input[i];
        output /= window->output[i];
        position /= window->kernel[i];
    }
    return pixel;
}

/* False: the launch ends, and the pixel is not finished. */
static bool pool_pixel(
    const State *state, const uint8_t *x, int64_t output, uint8_t *y, KernelStopMeter *meter) {
    const int64_t channels = state->of.channels;
    memset(y, state->least, (size_t)channels);
    for (int64_t position = 0; position < state->of.kernel_count; position++) {
        if (kernel_stop_ends_after(meter, 32 + (uint64_t)channels / 16)) return false;
        const int64_t pixel = pixel_at(&state->of.window, output, position);
        if (pixel >= 0) state->larger(x + pixel * channels, channels, y);
    }
    return true;
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    KernelStopMeter meter = {0};
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t image = i / state->of.rows, first = i % state->of.rows * state->of.width;
        const uint8_t *x = run->x + image * state->of.input_count * state->of.channels;
        uint8_t *y = run->y + (image * state->of.output_count + first) * state->of.channels;
        for (int64_t o = 0; o < state->of.width; o++) {
            if (kernel_stop_ends_after(&meter, 64)) break;
            if (!pool_pixel(state, x, first + o, y + o * state->of.channels, &meter)) break;
        }
        TRY(kernel_stop_check());
    }
    return NULL;
}

static Error *launch_pool(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    static const uint8_t nothing = 0; /* stands for an image of size 0, which has no address */
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    if (!run.x) run.x = &nothing;
    if (state->of.images * state->of.output_count * state->of.channels == 0) return NULL;
    const int64_t cost = state->of.width * state->of.kernel_count * (state->of.channels / 16 + 8);
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (uint64_t)(state->of.images * state->of.rows), (uint64_t)(131072 / (cost + 1)) + 1,
        run_rows, &run);
}

static Error *plan_pool(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    ChannelsFirst first;
    OperatorId pool;
    Window window;
    TRY(channels_last_pool(request, &pool));
    if (pool != OPERATOR_MAX_POOL) return cpu_decline(out);
    channels_first_of(request, &first);
    first.request.operator_info = operator_get(pool);
    const Shape *x = &first.inputs[0].shape, *y = &first.request.outputs[0].shape;
    TRY(window_of(&first.request, &window));
    TRY(plan_create(device, request, "cpu.pool_bytes", sizeof(State), out));
    State *state = plan_state(*out);
    const bool is_signed = request->inputs[0].dtype == DTYPE_INT8;
    state->of = cpu_pool_images(&window, x, y);
    state->least = is_signed ? 0x80 : 0;
    state->larger = is_signed ? larger_signed_for(level) : larger_unsigned_for(level);
    (*out)->launch = launch_pool;
    return NULL;
}

const Kernel cpu_pool_bytes[] = {
    {OPERATOR_FUSED_POOL, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8), plan_pool,
        "cpu.pool_bytes", KERNEL_PORTABLE},
    KERNELS_END,
};
