/* ConvInteger and QLinearConv over more than two dimensions, or without channels: multiplies the
 * weights with columns of input patches, a panel at a time. Beside the input a window reads the
 * input's zero point. */
#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/quantized/cpu_integer_operand.h"
#include "kernels/cpu/quantized/cpu_requantize.h"
#include "kernels/arguments/window.h"

typedef struct State {
    Window window;
    CpuIntegerOperand weights; /* of all groups */
    int64_t images, groups;
    int64_t channels;      /* of a group's input */
    int64_t filters;       /* of a group */
    int64_t taps;          /* positions of a window */
    int64_t plane, pixels; /* of the input and of the output */
    int64_t blocks;        /* of CPU_INTEGER_COLUMNS pixels */
    bool x_signed;
    bool has_x_zero, has_w_zero;
    CpuIntegerProduct *product;
    uint64_t columns_offset, columns_bytes; /* in the workspace, for each part */
    /* QLinearConv: the result is bytes */
    bool quantizes;
    uint32_t w_index; /* of the input */
    bool has_bias;
    bool w_scales_apart; /* true: each filter has its own scale */
    bool to_signed;
    CpuRequantizeSums *requantize;
} State;

typedef struct Run {
    const State *state;
    const uint8_t *x;
    int32_t x_zero;
    const int16_t *weights;
    char *columns;
    const int32_t *bias;
    const float *w_scales;
    float x_scale, y_scale;
    CpuRequantizeTo to;
    char *out;
} Run;

/* The corners of the windows of a panel's pixels. */
typedef struct Origins {
    int64_t count;
    int64_t at[CPU_INTEGER_PANEL][WINDOW_RANK_MAX];
} Origins;

static void find_origins(const State *state, int64_t pixel, Origins *out) {
    const Window *window = &state->window;
    out->count = state->pixels - pixel;
    if (out->count > CPU_INTEGER_PANEL) out->count = CPU_INTEGER_PANEL;
    for (int64_t c = 0; c < out->count; c++) {
        int64_t rest = pixel + c;
        for (uint32_t d = window->rank; d-- > 0; rest /= window->output[d])
            out->at[c][d] = rest % window->output[d] * window->stride[d] - window->pad_begin[d];
    }
}

/* The element that each of the panel's windows reads at one tap: an offset in a plane, or -1 beside
 * the input. */
static void find_offsets(
    const State *state, const Origins *origins, int64_t tap, int64_t *out_offsets) {
    const Window *window = &state->window;
    int64_t moved[WINDOW_RANK_MAX];
    for (uint32_t d = window->rank; d-- > 0; tap /= window->kernel[d])
        moved[d] = tap % window->kernel[d] * window->dilation[d];
    for (int64_t c = 0; c < origins->count; c++) {
        int64_t offset = 0;
        for (uint32_t d = 0; d < window->rank && offset >= 0; d++) {
            const int64_t at = origins->at[c][d] + moved[d];
            offset = at < 0 || at >= window->input[d] ? -1 : offset * window->input[d] + at;
        }
        out_offsets[c] = offset;
    }
}

/* [pair][pixel][2] of the patches, the depth being [channel][tap]. */
static void pack_patches(
    const Run *run, const uint8_t *x, int64_t pixel, int16_t *out, KernelStopMeter *meter) {
    const State *state = run->state;
    const int64_t depth = state->weights.depth;
    Origins origins;
    int64_t offsets[CPU_INTEGER_PANEL];
    find_origins(state, pixel, &origins);
    if (origins.count < CPU_INTEGER_PANEL || depth % 2)
        memset(out, 0, (size_t)(cpu_integer_pairs(depth) * 2 * CPU_INTEGER_PANEL) * sizeof *out);
    for (int64_t tap = 0; tap < state->taps; tap++) {
        if (kernel_stop_ends_after(meter, (uint64_t)(state->channels + 16) * 64)) return;
        find_offsets(state, &origins, tap, offsets);
        for (int64_t channel = 0; channel < state->channels; channel++) {
            if (kernel_stop_ends_at(channel)) return;
            const int64_t k = channel * state->taps + tap;
            const uint8_t *from = x + channel * state->plane;
            int16_t *to = out + k / 2 * 2 * CPU_INTEGER_PANEL + k % 2;
            for (int64_t c = 0; c < origins.count; c++) {
                int32_t value = 0;
                if (offsets[c] >= 0)
                    value = cpu_integer_load(state->x_signed, from, offsets[c]) - run->x_zero;
                to[2 * c] = (int16_t)value;
            }
        }
    }
}

static void write_rows(const Run *run, const int32_t *sums, int64_t filter, int64_t rows,
    int64_t columns, int64_t first) {
    const State *state = run->state;
    float factors[CPU_INTEGER_COLUMNS];
    int32_t bias[CPU_INTEGER_COLUMNS];
    for (int64_t r = 0; r < rows; r++) {
        const int32_t *from = sums + r * CPU_INTEGER_COLUMNS;
        const int64_t at = first + r * state->pixels;
        if (!state->quantizes) {
            memcpy((int32_t *)(void *)run->out + at, from, (size_t)columns * sizeof *from);
            continue;
        }
        const float factor = cpu_requantize_factor(
            run->x_scale, run->w_scales[state->w_scales_apart ? filter + r : 0], run->y_scale);
        for (int64_t c = 0; c < columns; c++) {
            factors[c] = factor;
            bias[c] = run->bias ? run->bias[filter + r] : 0;
        }
        state->requantize(&run->to, from, bias, factors, columns, (uint8_t *)run->out + at);
    }
}

/* Computes all filters of a group over one block of pixels of an image. */
static void run_block(
    const Run *run, int64_t image, int64_t group, int64_t block, int16_t *columns) {
    const State *state = run->state;
    const int64_t pairs = cpu_integer_pairs(state->weights.depth);
    const int64_t pixel = block * CPU_INTEGER_COLUMNS, left = state->pixels - pixel;
    const int64_t count = left < CPU_INTEGER_COLUMNS ? left : CPU_INTEGER_COLUMNS;
    const uint8_t *x = run->x; /* NULL without channels */
    if (x) x += (image * state->groups + group) * state->channels * state->plane;
    int32_t sums[CPU_INTEGER_ROWS * CPU_INTEGER_COLUMNS];
    CpuIntegerTile tile = {.pairs = pairs,
        .panels = cpu_integer_panels(count),
        .a_row = pairs * 2,
        .b = columns,
        .b_panel = pairs * 2 * CPU_INTEGER_PANEL,
        .out = sums,
        .out_row = CPU_INTEGER_COLUMNS};
    KernelStopMeter meter = {0};
    for (int64_t p = 0; p < tile.panels; p++)
        pack_patches(run, x, pixel + p * CPU_INTEGER_PANEL, columns + p * tile.b_panel, &meter);
    for (int64_t row = 0; row < state->filters; row += CPU_INTEGER_ROWS) {
        if (kernel_stop_ends()) return;
        const int64_t filter = group * state->filters + row;
        tile.rows =
            state->filters - row < CPU_INTEGER_ROWS ? state->filters - row : CPU_INTEGER_ROWS;
        tile.a = run->weights + filter * tile.a_row;
        cpu_integer_sum(state->product, &tile);
        write_rows(run, sums, filter, tile.rows, count,
            (image * state->weights.lines + filter) * state->pixels + pixel);
    }
}

static Error *run_blocks(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    int16_t *columns = (int16_t *)(void *)(run->columns + part * state->columns_bytes);
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t plane = unit / state->blocks;
        run_block(run, plane / state->groups, plane % state->groups, unit % state->blocks, columns);
    }
    return NULL;
}

static void read_quantization(const State *state, const Launch *launch, Run *run) {
    run->x_scale = *(const float *)cpu_input(launch, 1);
    run->w_scales = cpu_input(launch, 4);
    run->y_scale = *(const float *)cpu_input(launch, 6);
    run->to.is_signed = state->to_signed;
    run->to.zero_point = cpu_integer_load(state->to_signed, cpu_input(launch, 7), 0);
    if (state->has_bias) run->bias = cpu_input(launch, 8);
}

static uint64_t units_of(const State *state) {
    return (uint64_t)(state->images * state->groups * state->blocks);
}

static Error *launch_conv(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    const uint32_t x_zero = 2, w_zero = state->quantizes ? 5 : 3;
    const uint64_t units = units_of(state);
    Run run = {.state = state,
        .x = cpu_input(launch, 0),
        .weights = cpu_workspace(launch),
        .columns = (char *)cpu_workspace(launch) + state->columns_offset,
        .out = cpu_output(launch, 0)};
    (void)output_shapes;
    if (units == 0 || state->filters == 0) return NULL;
    if (state->has_x_zero)
        run.x_zero = cpu_integer_load(state->x_signed, cpu_input(launch, x_zero), 0);
    TRY(cpu_integer_pack_rows(device, launch->threads, &state->weights,
        cpu_input(launch, state->w_index), state->has_w_zero ? cpu_input(launch, w_zero) : NULL,
        cpu_workspace(launch)));
    if (state->quantizes) read_quantization(state, launch, &run);
    const int64_t work = (state->weights.depth + 1) * (state->filters + 8) * CPU_INTEGER_COLUMNS;
    return cpu_for_each(
        device, launch->threads, units, (uint64_t)((1 << 20) / work) + 1, run_blocks, &run);
}

static bool is_apart(const PlanRequest *request, uint32_t index) {
    return plan_request_has(request, index) &&
           shape_count_unchecked(&request->inputs[index].shape) > 1;
}

static void fill_sizes(const PlanRequest *request, State *state) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[state->w_index].shape;
    const Shape *y = &request->outputs[0].shape;
    const uint32_t w_zero = state->quantizes ? 5 : 3;
    state->groups = attributes_int(request->attributes, "group");
    state->images = x->dims[0];
    state->channels = w->dims[1];
    state->filters = w->dims[0] / state->groups;
    state->taps = shape_product(w, 2, w->rank);
    state->plane = shape_product(x, 2, x->rank);
    state->pixels = shape_product(y, 2, y->rank);
    state->blocks = (state->pixels + CPU_INTEGER_COLUMNS - 1) / CPU_INTEGER_COLUMNS;
    state->x_signed = request->inputs[0].dtype == DTYPE_INT8;
    state->has_x_zero = plan_request_has(request, 2);
    state->has_w_zero = plan_request_has(request, w_zero);
    const int64_t depth = state->channels * state->taps;
    state->weights = (CpuIntegerOperand){
        .is_signed = request->inputs[state->w_index].dtype == DTYPE_INT8,
        .lines = w->dims[0],
        .depth = depth,
        .line_stride = depth,
        .depth_stride = 1,
        .matrices = 1,
        .zero_points = {.count = state->has_w_zero, .line = is_apart(request, w_zero)},
    };
}

static Error *place_workspace(const CpuDevice *device, Plan *plan, State *state) {
    uint64_t columns = (uint64_t)cpu_integer_pairs(state->weights.depth), all;
    const uint64_t units = units_of(state), threads = device->threads_max;
    TRY(cpu_integer_row_bytes(&state->weights, &state->columns_offset));
    if (!checked_mul_u64(columns, 2 * CPU_INTEGER_COLUMNS * sizeof(int16_t), &columns) ||
        !checked_align_u64(columns + 1, DEVICE_ALIGNMENT, &state->columns_bytes) ||
        !checked_mul_u64(state->columns_bytes, units < threads ? units : threads, &all) ||
        !checked_add_u64(state->columns_offset, all, &plan->workspace_bytes))
        FAIL(INVALID, "a window of too many elements");
    return NULL;
}

static Error *plan_conv(Device *device, const PlanRequest *request, Plan **out) {
    const bool quantizes = request->operator_info->id == OPERATOR_QLINEAR_CONV;
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, quantizes ? "cpu.qlinear_conv" : "cpu.conv_integer",
        sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(window_of(request, &state->window));
    state->quantizes = quantizes;
    state->w_index = quantizes ? 3 : 1;
    state->has_bias = quantizes && plan_request_has(request, 8);
    state->w_scales_apart = quantizes && is_apart(request, 4);
    state->to_signed = request->outputs[0].dtype == DTYPE_INT8;
    state->product = cpu_integer_product_for(cpu_device(device)->level);
    state->requantize = cpu_requantize_for(cpu_device(device)->level);
    fill_sizes(request, state);
    TRY(place_workspace(cpu_device(device), plan, state));
    plan->launch = launch_conv;
    *out = TAKE(plan);
    return NULL;
}

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

const Kernel cpu_integer_conv[] = {
    {OPERATOR_CONV_INTEGER, BYTES, plan_conv, "cpu.conv_integer", KERNEL_PORTABLE},
    {OPERATOR_QLINEAR_CONV, BYTES, plan_conv, "cpu.qlinear_conv", KERNEL_PORTABLE},
    KERNELS_END,
};
