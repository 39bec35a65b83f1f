/* ConvInteger, QLinearConv and FusedQLinearConv over one or two dimensions. Images are written once
 * with the padding of the windows, into the workspace, unless they have that form already; then
 * windows are rows of matrices that lie a step apart, as in cpu_conv_last.h. */
#include <string.h>

#include "kernels/arguments/channels_first.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/quantized/cpu_bytes_depthwise.h"
#include "kernels/cpu/quantized/cpu_bytes_filters.h"
#include "kernels/cpu/quantized/cpu_bytes_images.h"
#include "kernels/cpu/quantized/cpu_integer_operand.h"
#include "kernels/cpu/quantized/cpu_lower_operands.h"
#include "kernels/cpu/quantized/cpu_requantize.h"

enum {
    HEIGHT = 0,
    WIDTH = 1,
    UNITS_WANTED = 8, /* so that several threads get equal work */
    SUMS = CPU_LOWER_ROWS * CPU_LOWER_COLUMNS,
};

typedef struct State {
    CpuBytesFilters filters;
    CpuBytesImages images;
    Window window;                     /* of two dimensions */
    int64_t columns;                   /* filters of a group; depthwise: the channels */
    int64_t rows, pixels;              /* outputs of a block */
    int64_t row_blocks, column_blocks; /* of an image */
    CpuLowerProduct *product;
    CpuBytesDepthwiseSum *depthwise;
    CpuBytesWindowsSum *sum_windows;
    CpuBytesZerosSubtract *subtract;
    CpuRequantizeSums *requantize;
    uint32_t w_index; /* of the input; the weights' zero point is input w_zero */
    uint32_t w_zero;
    bool quantizes, is_packed, has_x_zero, has_w_zero, has_bias;
    bool w_scales_apart, w_zeros_apart; /* each filter has its own */
    bool to_planes, to_signed;
    /* in the workspace */
    uint64_t bias_offset, factors_offset, w_zeros_offset, taps_offset, ones_offset, panels_offset;
} State;

typedef struct Run {
    const State *state;
    const char *images, *panels;
    bool has_zeros;   /* some of the weights' zero points are not 0 */
    const char *ones; /* weights that sum windows; NULL: sum_windows() does it */
    const int32_t *bias, *w_zeros;
    const float *factors;
    const int64_t *taps;
    int32_t zero;
    CpuRequantizeTo to;
    char *y;
} Run;

/* A block of outputs and a tile of filters of a group. */
typedef struct Block {
    int64_t image, row, rows, pixel, pixels;
    int64_t group, filter, filters;
} Block;

static int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

static int64_t groups_of(const State *state) {
    return state->filters.is_depthwise ? 1 : state->filters.groups;
}

/* ---- sums ---- */

/* Multiplies a piece of the windows with its weights, which begin at group `at` of the panels. */
static void add_piece(const Run *run, const Block *block, CpuLowerTile *tile, const char *a,
    int64_t at, int32_t *sums) {
    const State *state = run->state;
    const CpuLowerForm form = state->filters.form;
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    const int64_t group = cpu_lower_group_bytes(form), most = CPU_LOWER_BLOCK / group;
    const int64_t groups = cpu_bytes_piece_groups(&state->filters);
    const int64_t row_step = state->window.stride[HEIGHT] * cpu_bytes_pitch(&state->images);
    for (int64_t k = 0; k < groups; k += most) {
        if (kernel_stop_ends()) return;
        tile->groups = groups - k < most ? groups - k : most;
        tile->b = (const char *)tile->heads + info->head + (at + k) * group;
        tile->accumulate = at + k > 0;
        for (int64_t row = 0; row < block->rows; row++) {
            tile->a = a + row * row_step + k * info->group * info->row_size;
            tile->out = sums + row * block->pixels * CPU_LOWER_COLUMNS;
            state->product(tile);
        }
    }
}

static const char *first_window(const Run *run, const Block *block) {
    const CpuBytesImages *images = &run->state->images;
    const Window *window = &run->state->window;
    return run->images +
           (block->image * images->padded_height + block->row * window->stride[HEIGHT]) *
               cpu_bytes_pitch(images) +
           block->pixel * window->stride[WIDTH] * cpu_bytes_pixel(images);
}

/* Bytes from a pixel's first channel to the first one of the block's group. */
static int64_t group_offset(const State *state, const Block *block) {
    const CpuBytesFilters *filters = &state->filters;
    return block->group * filters->channels * cpu_lower_forms[filters->form].row_size;
}

/* panels: the block's first one. */
static void sum_products(
    const Run *run, const Block *block, const char *panels, int64_t panel_count, int32_t *sums) {
    const State *state = run->state;
    const Window *window = &state->window;
    const CpuBytesFilters *filters = &state->filters;
    const int64_t pixel = cpu_bytes_pixel(&state->images), pitch = cpu_bytes_pitch(&state->images);
    const int64_t pieces = filters->by_rows ? 1 : filters->width;
    const int64_t groups = cpu_bytes_piece_groups(filters);
    int32_t zeros[CPU_LOWER_ROWS];
    for (int64_t i = 0; i < block->pixels; i++) zeros[i] = run->zero;
    CpuLowerTile tile = {
        .rows = block->pixels,
        .panels = panel_count,
        .a_row = window->stride[WIDTH] * pixel,
        .b_panel = cpu_bytes_panel_bytes(filters),
        .zeros = zeros,
        .heads = panels,
    };
    const char *first = first_window(run, block) + group_offset(state, block);
    for (int64_t i = 0; i < window->kernel[HEIGHT]; i++)
        for (int64_t j = 0; j < pieces; j++)
            add_piece(run, block, &tile,
                first + i * window->dilation[HEIGHT] * pitch + j * window->dilation[WIDTH] * pixel,
                (i * pieces + j) * groups, sums);
}

/* Where the sums take the weights' zero points off by themselves. */
static bool takes_zeros(const State *state) {
    return state->filters.is_depthwise && state->filters.form == CPU_LOWER_INT8;
}

static void sum_channels(const Run *run, const Block *block, const char *weights, int32_t *sums) {
    const State *state = run->state;
    const bool takes = run->has_zeros && takes_zeros(state);
    const int64_t row_step = state->window.stride[HEIGHT] * cpu_bytes_pitch(&state->images);
    const char *first =
        first_window(run, block) + block->filter * cpu_lower_forms[state->filters.form].row_size;
    CpuBytesDepthwise sum = {
        .pixels = block->pixels,
        .taps = cpu_bytes_taps(&state->filters),
        .channels = block->filters,
        .pixel = state->window.stride[WIDTH] * cpu_bytes_pixel(&state->images),
        .offsets = run->taps,
        .weights = weights,
        .zero = run->zero,
        .zeros = takes ? run->w_zeros + block->filter : NULL,
    };
    for (int64_t row = 0; row < block->rows; row++) {
        sum.x = first + row * row_step;
        sum.out = sums + row * block->pixels * CPU_LOWER_COLUMNS;
        state->depthwise(&sum);
    }
}

static void sum_windows(const Run *run, const Block *block, int32_t *out) {
    const State *state = run->state;
    const Window *window = &state->window;
    const CpuBytesFilters *filters = &state->filters;
    const int64_t pixel = cpu_bytes_pixel(&state->images), pitch = cpu_bytes_pitch(&state->images);
    const CpuBytesWindows windows = {
        .rows = block->rows,
        .columns = block->pixels,
        .down = window->stride[HEIGHT] * pitch,
        .right = window->stride[WIDTH] * pixel,
        .lines = filters->height,
        .pieces = filters->by_rows ? 1 : filters->width,
        .piece = filters->channels * (filters->by_rows ? filters->width : 1),
        .line_step = window->dilation[HEIGHT] * pitch,
        .piece_step = window->dilation[WIDTH] * pixel,
        .first = first_window(run, block) + group_offset(state, block),
    };
    state->sum_windows(&windows, out);
}

/* Subtracts the weights' zero points times the sums of the windows. */
static void subtract_zeros(const Run *run, const Block *block, int32_t *sums) {
    const State *state = run->state;
    const int64_t first = block->group * state->columns + block->filter;
    const int64_t count = block->rows * block->pixels;
    int32_t windows[SUMS];
    CpuBytesZeros subtracted = {count, block->filters, CPU_LOWER_COLUMNS,
        state->filters.is_depthwise, windows, run->w_zeros + first};
    if (state->filters.is_depthwise) {
        sum_channels(run, block, run->ones, windows);
    } else if (run->ones) {
        sum_products(run, block, run->ones, 1, windows);
    } else {
        sum_windows(run, block, windows);
        subtracted.step = 1;
    }
    state->subtract(&subtracted, sums);
}

static void sum_block(const Run *run, const Block *block, int32_t *sums) {
    const State *state = run->state;
    const int64_t bytes = cpu_bytes_panel_bytes(&state->filters);
    const int64_t tile = block->filter / CPU_LOWER_PANEL;
    if (state->filters.is_depthwise)
        sum_channels(run, block, run->panels + block->filter / CPU_BYTES_CHANNELS * bytes, sums);
    else
        sum_products(run, block,
            run->panels + (block->group * cpu_lower_panels(state->columns) + tile) * bytes,
            cpu_lower_panels(block->filters), sums);
    if (run->has_zeros && !takes_zeros(state)) subtract_zeros(run, block, sums);
}

/* ---- results ---- */

static int64_t filters_of(const State *state) { return groups_of(state) * state->columns; }

/* Writes results whose filters are planes apart. size: bytes of one. */
static void write_planes(const Run *run, const Block *block, const char *from, int64_t size) {
    const int64_t *output = run->state->window.output;
    const int64_t first =
        block->image * filters_of(run->state) + block->group * run->state->columns + block->filter;
    for (int64_t f = 0; f < block->filters; f++)
        for (int64_t row = 0; row < block->rows; row++) {
            const int64_t line = (first + f) * output[HEIGHT] + block->row + row;
            char *to = run->y + (line * output[WIDTH] + block->pixel) * size;
            const char *at = from + (row * block->pixels * CPU_LOWER_COLUMNS + f) * size;
            for (int64_t i = 0; i < block->pixels; i++, at += CPU_LOWER_COLUMNS * size) {
                if (size == 1)
                    to[i] = *at;
                else
                    memcpy(to + i * size, at, sizeof(int32_t));
            }
        }
}

static void finish_block(const Run *run, const Block *block, const int32_t *sums) {
    const State *state = run->state;
    const int64_t *output = state->window.output, first = block->group * state->columns;
    const int64_t size = state->quantizes ? 1 : (int64_t)sizeof(int32_t);
    uint8_t bytes[SUMS];
    if (!state->quantizes && state->to_planes) {
        write_planes(run, block, (const char *)sums, size);
        return;
    }
    for (int64_t i = 0; i < block->rows * block->pixels; i++) {
        const int64_t row = block->row + i / block->pixels,
                      pixel = block->pixel + i % block->pixels;
        const int64_t at = (block->image * output[HEIGHT] + row) * output[WIDTH] + pixel;
        const int32_t *from = sums + i * CPU_LOWER_COLUMNS;
        char *to = run->y + (at * filters_of(state) + first + block->filter) * size;
        if (state->to_planes) to = (char *)bytes + i * CPU_LOWER_COLUMNS;
        if (state->quantizes)
            state->requantize(&run->to, from, run->bias + first + block->filter,
                run->factors + first + block->filter, block->filters, (uint8_t *)to);
        else
            memcpy(to, from, (size_t)(block->filters * size));
    }
    if (state->to_planes) write_planes(run, block, (const char *)bytes, size);
}

/* The unit's block. Units go tile by tile of filters, so that their weights stay in the second
 * level cache. */
static Block block_at(const State *state, int64_t unit) {
    const int64_t *output = state->window.output;
    const int64_t blocks = state->row_blocks * state->column_blocks;
    const int64_t at = unit % blocks, tile = unit / (blocks * state->images.images);
    const int64_t tiles = blocks_of(state->columns, CPU_LOWER_COLUMNS);
    Block block = {
        .image = unit / blocks % state->images.images,
        .row = at / state->column_blocks * state->rows,
        .pixel = at % state->column_blocks * state->pixels,
        .group = tile / tiles,
        .filter = tile % tiles * CPU_LOWER_COLUMNS,
    };
    const int64_t rows = output[HEIGHT] - block.row, pixels = output[WIDTH] - block.pixel;
    const int64_t filters = state->columns - block.filter;
    block.rows = rows < state->rows ? rows : state->rows;
    block.pixels = pixels < state->pixels ? pixels : state->pixels;
    block.filters = filters < CPU_LOWER_COLUMNS ? filters : CPU_LOWER_COLUMNS;
    return block;
}

static Error *run_blocks(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    int32_t sums[SUMS];
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        TRY(kernel_stop_check());
        const Block block = block_at(run->state, unit);
        sum_block(run, &block, sums);
        finish_block(run, &block, sums);
    }
    return NULL;
}

/* ---- the launch ---- */

static uint64_t units_of(const State *state) {
    return (uint64_t)(state->images.images * state->row_blocks * state->column_blocks *
                      groups_of(state) * blocks_of(state->columns, CPU_LOWER_COLUMNS));
}

/* Windows of int16 are summed as they are. */
static bool needs_ones(const State *state) { return state->filters.form != CPU_LOWER_INT8; }

/* Reads what belongs to each filter into the workspace. */
static void read_filters(const State *state, const Launch *launch, Run *run) {
    char *workspace = cpu_workspace(launch);
    const uint8_t *zeros = state->has_w_zero ? cpu_input(launch, state->w_zero) : NULL;
    const int32_t shift = state->filters.is_signed ? 0 : 128;
    const float *x_scale = cpu_input(launch, 1), *w_scales = cpu_input(launch, 4);
    const float *y_scale = state->quantizes ? cpu_input(launch, 6) : NULL;
    const int32_t *given = state->has_bias ? cpu_input(launch, 8) : NULL;
    int32_t *bias = (int32_t *)(void *)(workspace + state->bias_offset);
    float *factors = (float *)(void *)(workspace + state->factors_offset);
    int32_t *w_zeros = (int32_t *)(void *)(workspace + state->w_zeros_offset), all = 0;
    KERNEL_STOP_EACH (i, 0, filters_of(state)) {
        const int32_t zero =
            zeros ? cpu_integer_load(state->filters.is_signed, zeros, state->w_zeros_apart ? i : 0)
                  : 0;
        w_zeros[i] = zero - shift;
        all |= zero - shift;
        if (!state->quantizes) continue;
        bias[i] = given ? given[i] : 0;
        factors[i] =
            cpu_requantize_factor(*x_scale, w_scales[state->w_scales_apart ? i : 0], *y_scale);
    }
    run->bias = bias;
    run->factors = factors;
    run->w_zeros = w_zeros;
    run->has_zeros = all != 0;
    if (all == 0 || !needs_ones(state)) return;
    CpuBytesFilters ones = state->filters;
    if (!ones.is_depthwise) ones.groups = ones.filters = 1;
    if (ones.is_depthwise) ones.groups = CPU_BYTES_CHANNELS;
    cpu_bytes_pack(&ones, NULL, 0, 1, workspace + state->ones_offset);
    run->ones = workspace + state->ones_offset;
}

/* Where each tap of a depthwise window lies. */
static void find_taps(const State *state, int64_t *out) {
    const CpuBytesFilters *filters = &state->filters;
    const int64_t count = cpu_bytes_taps(filters), *dilation = state->window.dilation;
    KERNEL_STOP_EACH (tap, 0, count)
        out[tap] = tap / filters->width * dilation[HEIGHT] * cpu_bytes_pitch(&state->images) +
                   tap % filters->width * dilation[WIDTH] * cpu_bytes_pixel(&state->images);
    for (int64_t tap = count; tap % 4 != 0; tap++) out[tap] = 0;
}

static Error *launch_conv(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    char *workspace = cpu_workspace(launch);
    int32_t x_zero = 0;
    (void)output_shapes;
    Run run = {.state = state,
        .images = state->images.in_place ? cpu_input(launch, 0) : workspace,
        .panels =
            state->is_packed ? cpu_input(launch, state->w_index) : workspace + state->panels_offset,
        .taps = (const int64_t *)(void *)(workspace + state->taps_offset),
        .to = {.is_signed = state->to_signed},
        .y = cpu_output(launch, 0)};
    if (units_of(state) == 0) return NULL;
    if (state->has_x_zero)
        x_zero = cpu_integer_load(state->images.is_signed, cpu_input(launch, 2), 0);
    run.zero = cpu_bytes_zero(&state->images, x_zero);
    if (state->quantizes)
        run.to.zero_point = cpu_integer_load(state->to_signed, cpu_input(launch, 7), 0);
    read_filters(state, launch, &run);
    if (!state->is_packed)
        TRY(cpu_bytes_pack_panels(device, launch->threads, &state->filters,
            cpu_input(launch, state->w_index), workspace + state->panels_offset));
    if (state->filters.is_depthwise)
        find_taps(state, (int64_t *)(void *)(workspace + state->taps_offset));
    if (!state->images.in_place)
        TRY(cpu_bytes_write_images(
            device, launch->threads, &state->images, cpu_input(launch, 0), x_zero, workspace));
    const int64_t depth = cpu_bytes_depth(&state->filters);
    const int64_t cost = (state->rows * state->pixels + 32) * CPU_LOWER_COLUMNS * depth;
    return cpu_for_each(device, launch->threads, units_of(state),
        (uint64_t)(4000000 / (cost + 1)) + 1, run_blocks, &run);
}

/* ---- the plan ---- */

static void cut_rows(State *state, int64_t rows) {
    state->rows = rows;
    state->row_blocks = blocks_of(state->window.output[HEIGHT], rows);
}

/* Chooses the blocks, by shapes alone. */
static void cut(State *state) {
    const int64_t width = state->window.output[WIDTH], height = state->window.output[HEIGHT];
    const int64_t pieces = blocks_of(width, CPU_LOWER_ROWS);
    state->pixels = pieces > 0 ? blocks_of(width, pieces) : 1;
    state->column_blocks = blocks_of(width, state->pixels);
    const int64_t rows = CPU_LOWER_ROWS / state->pixels;
    cut_rows(state, rows < height ? rows : height > 0 ? height : 1);
    while (units_of(state) < UNITS_WANTED && state->rows > 1)
        cut_rows(state, (state->rows + 1) / 2);
}

static bool is_apart(const PlanRequest *request, uint32_t index) {
    return plan_request_has(request, index) &&
           shape_count_unchecked(&request->inputs[index].shape) > 1;
}

/* How far behind its last piece a window is read. */
static int64_t spare_bytes(const State *state) {
    const CpuBytesFilters *filters = &state->filters;
    const CpuLowerFormInfo *info = &cpu_lower_forms[filters->form];
    const int64_t piece = filters->channels * (filters->by_rows ? filters->width : 1);
    if (filters->is_depthwise) return 0;
    return (cpu_bytes_piece_groups(filters) * info->group - piece) * info->row_size;
}

static Error *place_workspace(Plan *plan, State *state) {
    const int64_t filters = filters_of(state), taps = cpu_bytes_taps(&state->filters) + 3;
    uint64_t total = 0, bytes;
    if (!state->images.in_place) {
        TRY(cpu_bytes_images_bytes(&state->images, spare_bytes(state), &bytes));
        TRY(cpu_lower_reserve(bytes, 0, NULL, &total));
    }
    state->bias_offset = total;
    TRY(cpu_lower_reserve(sizeof(int32_t), 1, &filters, &total));
    state->factors_offset = total;
    TRY(cpu_lower_reserve(sizeof(float), 1, &filters, &total));
    state->w_zeros_offset = total;
    TRY(cpu_lower_reserve(sizeof(int32_t), 1, &filters, &total));
    state->taps_offset = total;
    if (state->filters.is_depthwise) TRY(cpu_lower_reserve(sizeof(int64_t), 1, &taps, &total));
    TRY(cpu_bytes_packed_bytes(&state->filters, &bytes));
    state->ones_offset = total;
    if (needs_ones(state) && (state->has_w_zero || !state->filters.is_signed))
        TRY(cpu_lower_reserve((uint64_t)cpu_bytes_panel_bytes(&state->filters), 0, NULL, &total));
    state->panels_offset = total;
    if (!state->is_packed) TRY(cpu_lower_reserve(bytes, 0, NULL, &total));
    plan->workspace_bytes = total > 0 ? total : DEVICE_ALIGNMENT;
    return NULL;
}

static void fill_inputs(const PlanRequest *request, State *state) {
    const OperatorId id = request->operator_info->id;
    state->w_index = cpu_bytes_filters_input(id);
    state->quantizes = id != OPERATOR_CONV_INTEGER;
    state->w_zero = state->quantizes ? 5 : 3;
    state->has_x_zero = plan_request_has(request, 2);
    state->has_w_zero = plan_request_has(request, state->w_zero);
    state->has_bias = state->quantizes && plan_request_has(request, 8);
    state->w_scales_apart = state->quantizes && is_apart(request, 4);
    state->w_zeros_apart = is_apart(request, state->w_zero);
    state->is_packed = request->inputs[state->w_index].layout != CPU_LAYOUT_PLAIN;
    state->to_signed = request->outputs[0].dtype == DTYPE_INT8;
    state->to_planes = !channels_last_is(request);
}

static Error *plan_conv(Device *device, const PlanRequest *request, Plan **out) {
    const CpuDevice *cpu = cpu_device(device);
    const CpuLowerForm form = cpu_lower_form(cpu, true);
    ChannelsFirst first = {.request = *request};
    OWN(Plan, plan) = NULL;
    const Shape *filters =
        &request->inputs[cpu_bytes_filters_input(request->operator_info->id)].shape;
    if (filters->rank > 4 || filters->dims[1] == 0) return cpu_decline(out);
    if (channels_last_is(request)) channels_first_of(request, &first);
    TRY(plan_create(device, request, "cpu.bytes_conv", sizeof(State), &plan));
    State *state = plan_state(plan);
    fill_inputs(request, state);
    TRY(window_of(&first.request, &state->window));
    const TensorSpec *x = &first.request.inputs[0], *w = &request->inputs[state->w_index];
    state->filters = cpu_bytes_filters_of(form, request->attributes, &w->shape, w->dtype);
    state->columns = state->filters.is_depthwise ? state->filters.groups : state->filters.filters;
    cpu_bytes_flatten(&state->window);
    state->images = (CpuBytesImages){.form = form,
        .is_signed = x->dtype == DTYPE_INT8,
        .are_planes = state->to_planes && x->shape.dims[1] != 1,
        .images = x->shape.dims[0],
        .channels = x->shape.dims[1]};
    cpu_bytes_images_of(&state->window, spare_bytes(state), &state->images);
    state->product = cpu_lower_product_for(cpu->level, form);
    state->depthwise = cpu_bytes_depthwise_for(cpu->level, form);
    state->sum_windows = cpu_bytes_windows_for(cpu->level);
    state->subtract = cpu_bytes_zeros_for(cpu->level);
    state->requantize = cpu_requantize_for(cpu->level);
    cut(state);
    TRY(place_workspace(plan, state));
    plan->launch = launch_conv;
    *out = TAKE(plan);
    return NULL;
}

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

const Kernel cpu_bytes_conv[] = {
    {OPERATOR_CONV_INTEGER, BYTES, plan_conv, "cpu.bytes_conv", KERNEL_PORTABLE},
    {OPERATOR_QLINEAR_CONV, BYTES, plan_conv, "cpu.bytes_conv", KERNEL_PORTABLE},
    {OPERATOR_FUSED_QLINEAR_CONV, BYTES, plan_conv, "cpu.bytes_conv", KERNEL_PORTABLE},
    KERNELS_END,
};
