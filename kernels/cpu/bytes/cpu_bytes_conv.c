/* ConvInteger, QLinearConv and FusedQLinearConv over one or two dimensions. Images are written once
 * with the padding of the windows, into the workspace, unless they have that form already; then
 * windows are rows of matrices, as in cpu_conv_last.h, or tiles of Winograd's method. */
#include <string.h>

#include "kernels/arguments/channels_first.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/bytes/cpu_bytes_conv_internal.h"
#include "kernels/cpu/bytes/cpu_bytes_winograd.h"
#include "kernels/cpu/quantized/cpu_integer_operand.h"
#include "kernels/cpu/quantized/cpu_lower_operands.h"
#include "kernels/cpu/quantized/cpu_requantize.h"

enum {
    HEIGHT = CPU_BYTES_HEIGHT,
    WIDTH = CPU_BYTES_WIDTH,
    UNITS_WANTED = 8, /* so that several threads get equal work */
};

static int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

static int64_t groups_of(const CpuBytesConv *state) {
    return state->filters.is_depthwise ? 1 : state->filters.groups;
}

static int64_t filters_of(const CpuBytesConv *state) { return groups_of(state) * state->columns; }

/* ---- blocks ---- */

/* The unit's block. Units go tile by tile of filters, so that their weights stay in the second
 * level cache. */
static CpuBytesBlock block_at(const CpuBytesConv *state, int64_t unit) {
    const int64_t *output = state->window.output;
    const int64_t blocks = state->row_blocks * state->column_blocks;
    const int64_t at = unit % blocks, tile = unit / (blocks * state->images.images);
    const int64_t tiles = blocks_of(state->columns, CPU_LOWER_COLUMNS);
    CpuBytesBlock block = {
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

static Error *run_direct(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const CpuBytesRun *run = context;
    int32_t sums[CPU_BYTES_SUMS];
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        TRY(kernel_stop_check());
        const CpuBytesBlock block = block_at(run->state, unit);
        cpu_bytes_sum_block(run, &block, sums);
        cpu_bytes_finish(&run->results, &block, sums);
    }
    return NULL;
}

/* ---- after Winograd ---- */

static int64_t tile_columns(const CpuBytesConv *state) {
    return blocks_of(state->window.output[WIDTH], CPU_BYTES_WINOGRAD_OUTPUT);
}

static int64_t tiles_of(const CpuBytesConv *state) {
    return state->images.images * tile_columns(state) *
           blocks_of(state->window.output[HEIGHT], CPU_BYTES_WINOGRAD_OUTPUT);
}

/* A tile's outputs. */
static CpuBytesBlock tile_at(
    const CpuBytesConv *state, int64_t tile, const CpuBytesBlock *filters) {
    enum { SIDE = CPU_BYTES_WINOGRAD_OUTPUT };
    const int64_t *output = state->window.output, columns = tile_columns(state);
    const int64_t per_image = columns * blocks_of(output[HEIGHT], SIDE);
    CpuBytesBlock block = *filters;
    block.image = tile / per_image;
    block.row = tile % per_image / columns * SIDE;
    block.pixel = tile % columns * SIDE;
    block.rows = output[HEIGHT] - block.row < SIDE ? 1 : SIDE;
    block.pixels = output[WIDTH] - block.pixel < SIDE ? 1 : SIDE;
    return block;
}

/* `count` tiles from `first` on, and the filters of a block. */
static void run_tiles(const CpuBytesRun *run, int64_t first, int64_t count,
    const CpuBytesBlock *filters, char *scratch) {
    const CpuBytesConv *state = run->state;
    const char *pixels[CPU_BYTES_WINOGRAD_TILES];
    int32_t sums[4 * CPU_LOWER_COLUMNS];
    const CpuBytesWinograd winograd = {
        .level = state->level,
        .channels = state->images.channels,
        .tiles = count,
        .panels = cpu_lower_panels(filters->filters),
        .pixel = cpu_bytes_pixel(&state->images),
        .pitch = cpu_bytes_pitch(&state->images),
        .pixels = pixels,
        .weights = cpu_bytes_winograd_panel(
            &state->filters, run->panels, filters->filter / CPU_LOWER_PANEL),
        .scratch = scratch,
    };
    for (int64_t i = 0; i < count; i++) {
        const CpuBytesBlock tile = tile_at(state, first + i, filters);
        pixels[i] = cpu_bytes_first_window(run, &tile);
    }
    cpu_bytes_winograd_multiply(&winograd);
    for (int64_t i = 0; i < count; i++) {
        const CpuBytesBlock tile = tile_at(state, first + i, filters);
        cpu_bytes_winograd_leave(&winograd, i, tile.pixels, sums);
        if (run->has_zeros) cpu_bytes_subtract_zeros(run, &tile, sums);
        cpu_bytes_finish(&run->results, &tile, sums);
    }
}

/* Units go by filters first, as block_at's do. */
static Error *run_winograd(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const CpuBytesRun *run = context;
    const CpuBytesConv *state = run->state;
    char *scratch = run->scratch + part * cpu_bytes_winograd_scratch_bytes();
    const int64_t tiles = tiles_of(state), blocks = blocks_of(tiles, CPU_BYTES_WINOGRAD_TILES);
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        TRY(kernel_stop_check());
        const int64_t at = unit % blocks, filter = unit / blocks * CPU_LOWER_COLUMNS;
        const int64_t left = state->columns - filter, first = tiles * at / blocks;
        const CpuBytesBlock filters = {
            .filter = filter, .filters = left < CPU_LOWER_COLUMNS ? left : CPU_LOWER_COLUMNS};
        run_tiles(run, first, tiles * (at + 1) / blocks - first, &filters, scratch);
    }
    return NULL;
}

/* ---- the launch ---- */

static CpuBytesResults results_of(const CpuBytesConv *state, void *y) {
    return (CpuBytesResults){
        .height = state->window.output[HEIGHT],
        .width = state->window.output[WIDTH],
        .columns = state->columns,
        .filters = filters_of(state),
        .quantizes = state->quantizes,
        .to_planes = state->to_planes,
        .requantize = state->requantize,
        .to = {.is_signed = state->to_signed},
        .y = y,
    };
}

static uint64_t units_of(const CpuBytesConv *state) {
    if (state->is_winograd)
        return (uint64_t)(blocks_of(tiles_of(state), CPU_BYTES_WINOGRAD_TILES) *
                          blocks_of(state->columns, CPU_LOWER_COLUMNS));
    return (uint64_t)(state->images.images * state->row_blocks * state->column_blocks *
                      groups_of(state) * blocks_of(state->columns, CPU_LOWER_COLUMNS));
}

/* Windows of int16 are summed as they are. */
static bool needs_ones(const CpuBytesConv *state) { return state->filters.form != CPU_LOWER_INT8; }

/* Reads what belongs to each filter into the workspace. */
static void read_filters(const CpuBytesConv *state, const Launch *launch, CpuBytesRun *run) {
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
    run->results.bias = bias;
    run->results.factors = factors;
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
static void find_taps(const CpuBytesConv *state, int64_t *out) {
    const CpuBytesFilters *filters = &state->filters;
    const int64_t count = cpu_bytes_taps(filters), *dilation = state->window.dilation;
    KERNEL_STOP_EACH (tap, 0, count)
        out[tap] = tap / filters->width * dilation[HEIGHT] * cpu_bytes_pitch(&state->images) +
                   tap % filters->width * dilation[WIDTH] * cpu_bytes_pixel(&state->images);
    for (int64_t tap = count; tap % 4 != 0; tap++) out[tap] = 0;
}

static Error *launch_conv(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const CpuBytesConv *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    char *workspace = cpu_workspace(launch);
    int32_t x_zero = 0;
    (void)output_shapes;
    CpuBytesRun run = {.state = state,
        .images = state->images.in_place ? cpu_input(launch, 0) : workspace,
        .panels =
            state->is_packed ? cpu_input(launch, state->w_index) : workspace + state->panels_offset,
        .taps = (const int64_t *)(void *)(workspace + state->taps_offset),
        .results = results_of(state, cpu_output(launch, 0)),
        .scratch = workspace + state->scratch_offset};
    if (units_of(state) == 0) return NULL;
    if (state->has_x_zero)
        x_zero = cpu_integer_load(state->images.is_signed, cpu_input(launch, 2), 0);
    run.zero = cpu_bytes_zero(&state->images, x_zero);
    if (state->quantizes)
        run.results.to.zero_point = cpu_integer_load(state->to_signed, cpu_input(launch, 7), 0);
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
    const int64_t outputs =
        state->is_winograd ? CPU_BYTES_WINOGRAD_TILES * 2 : state->rows * state->pixels;
    const int64_t cost = (outputs + 32) * CPU_LOWER_COLUMNS * depth;
    return cpu_for_each(device, launch->threads, units_of(state),
        (uint64_t)(4000000 / (cost + 1)) + 1, state->is_winograd ? run_winograd : run_direct, &run);
}

/* ---- the plan ---- */

static void cut_rows(CpuBytesConv *state, int64_t rows) {
    state->rows = rows;
    state->row_blocks = blocks_of(state->window.output[HEIGHT], rows);
}

/* Chooses the blocks, by shapes alone. */
static void cut(CpuBytesConv *state) {
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
static int64_t spare_bytes(const CpuBytesConv *state) {
    const CpuBytesFilters *filters = &state->filters;
    const CpuLowerFormInfo *info = &cpu_lower_forms[filters->form];
    const int64_t piece = filters->channels * (filters->by_rows ? filters->width : 1);
    if (filters->is_depthwise) return 0;
    if (state->is_winograd) return CPU_BYTES_WINOGRAD_SPARE;
    return (cpu_bytes_piece_groups(filters) * info->group - piece) * info->row_size;
}

static Error *place_workspace(const CpuDevice *device, Plan *plan, CpuBytesConv *state) {
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
    state->scratch_offset = total;
    if (state->is_winograd) {
        const int64_t parts = cpu_part_count(device, device->threads_max, units_of(state), 1);
        TRY(cpu_lower_reserve((uint64_t)cpu_bytes_winograd_scratch_bytes(), 1, &parts, &total));
    }
    state->panels_offset = total;
    if (!state->is_packed) TRY(cpu_lower_reserve(bytes, 0, NULL, &total));
    plan->workspace_bytes = total > 0 ? total : DEVICE_ALIGNMENT;
    return NULL;
}

static void fill_inputs(const PlanRequest *request, CpuBytesConv *state) {
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
    state->is_winograd = request->inputs[state->w_index].layout == CPU_LAYOUT_BYTES_WINOGRAD;
    state->to_signed = request->outputs[0].dtype == DTYPE_INT8;
    state->to_planes = !channels_last_is(request);
}

/* Pixels that tiles reach. */
static int64_t tile_reach(const CpuBytesConv *state, uint32_t dimension) {
    return (blocks_of(state->window.output[dimension], CPU_BYTES_WINOGRAD_OUTPUT) + 1) *
           CPU_BYTES_WINOGRAD_OUTPUT;
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
    const uint32_t layout =
        request->inputs[cpu_bytes_filters_input(request->operator_info->id)].layout;
    const char *name =
        layout == CPU_LAYOUT_BYTES_WINOGRAD ? "cpu.bytes_winograd" : "cpu.bytes_conv";
    TRY(plan_create(device, request, name, sizeof(CpuBytesConv), &plan));
    CpuBytesConv *state = plan_state(plan);
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
    state->level = cpu->level;
    state->product = cpu_lower_product_for(cpu->level, form);
    state->depthwise = cpu_bytes_depthwise_for(cpu->level, form);
    state->sum_windows = cpu_bytes_windows_for(cpu->level);
    state->subtract = cpu_bytes_zeros_for(cpu->level);
    state->requantize = cpu_requantize_rows_for(cpu->level);
    if (state->is_winograd)
        cpu_bytes_images_extend(
            &state->images, tile_reach(state, HEIGHT), tile_reach(state, WIDTH));
    else
        cut(state);
    TRY(place_workspace(cpu, plan, state));
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
