/* FusedConvBFloat16 and FusedConvInt8. Images are rounded or quantized to bytes once, into the
 * workspace, together with their padding; then for each row of the kernel the windows of a row of
 * outputs are rows of a matrix that lie a step apart, as in cpu_conv_last.h. */
#include <stdatomic.h>
#include <string.h>

#include "kernels/cpu/quantized/cpu_lower_operands.h"
#include "kernels/cpu/quantized/cpu_lower_weights.h"
#include "kernels/cpu/quantized/cpu_lower_pack.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/arguments/channels_first.h"
#include "kernels/arguments/window.h"

enum {
    HEIGHT = 0,
    WIDTH = 1,
    UNITS_WANTED = 8,       /* so that several threads get equal work */
    MEASURED_ROWS_MAX = 16, /* rows of an image whose range is measured at a time */
};

typedef struct State {
    CpuLowerOperands operands; /* the columns are filters */
    Window window;
    int64_t images, channels;
    int64_t padded_rows, padded_columns; /* of an image in the workspace */
    int64_t rows, columns;               /* outputs of a block */
    int64_t row_blocks, column_blocks;   /* of an image */
    int64_t measured_rows, measurements; /* of an image */
    /* in the workspace, behind the images */
    uint64_t ranges_offset, image_scales_offset, filters_offset, panels_offset;
} State;

typedef struct Run {
    const State *state;
    const float *x;
    char *images;
    CpuLowerRange *ranges;       /* int8: [images][measurements] */
    CpuLowerScale *image_scales; /* int8: [images] */
    char *panels;
    CpuLowerResults y;
} Run;

static int64_t pixel_bytes(const State *state) {
    return cpu_lower_row_bytes(state->operands.form, state->channels);
}
static int64_t pitch_bytes(const State *state) {
    return state->padded_columns * pixel_bytes(state);
}
static int64_t image_bytes(const State *state) { return state->padded_rows * pitch_bytes(state); }

static int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

/* ---- images ---- */

static const float *image_row(const Run *run, int64_t image, int64_t row) {
    const State *state = run->state;
    const int64_t *input = state->window.input;
    return run->x + (image * input[HEIGHT] + row) * input[WIDTH] * state->channels;
}

static Error *measure(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const int64_t height = state->window.input[HEIGHT];
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t row = unit % state->measurements * state->measured_rows;
        const int64_t left = height - row;
        const int64_t rows = left < state->measured_rows ? left : state->measured_rows;
        CpuLowerRange range = CPU_LOWER_NOTHING;
        state->operands.row.measure(image_row(run, unit / state->measurements, row),
            rows * state->window.input[WIDTH] * state->channels, &range);
        run->ranges[unit] = range;
    }
    return NULL;
}

static void find_scales(const Run *run) {
    const State *state = run->state;
    for (int64_t image = 0; image < state->images; image++) {
        CpuLowerRange all = CPU_LOWER_NOTHING;
        for (int64_t i = 0; i < state->measurements; i++) {
            const CpuLowerRange *range = &run->ranges[image * state->measurements + i];
            all.low = range->low < all.low ? range->low : all.low;
            all.high = range->high > all.high ? range->high : all.high;
            all.finite = all.finite && range->finite;
        }
        run->image_scales[image] = cpu_lower_scale_of(&all);
    }
}

/* bfloat16 has none. */
static const CpuLowerScale *scale_of(const Run *run, int64_t image) {
    static const CpuLowerScale none = {.finite = true};
    return run->state->operands.is_int8 ? &run->image_scales[image] : &none;
}

/* Fills pixels with the number that stands for 0: for unsigned bytes the zero point. */
static void fill(const State *state, const CpuLowerScale *scale, char *to, int64_t pixels) {
    memset(to, cpu_lower_zero(state->operands.form, scale), (size_t)(pixels * pixel_bytes(state)));
}

/* Prepares rows of padded images, one after the other. */
static Error *prepare_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const Window *window = &state->window;
    const int64_t pixels = window->input[WIDTH], before = window->pad_begin[WIDTH];
    const int64_t behind = state->padded_columns - before - pixels;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t image = unit / state->padded_rows;
        const int64_t row = unit % state->padded_rows - window->pad_begin[HEIGHT];
        const CpuLowerScale *scale = scale_of(run, image);
        char *to = run->images + unit * pitch_bytes(state);
        if (row < 0 || row >= window->input[HEIGHT]) {
            fill(state, scale, to, state->padded_columns);
            continue;
        }
        const float *from = image_row(run, image, row);
        char *middle = to + before * pixel_bytes(state);
        fill(state, scale, to, before);
        if (state->operands.is_int8)
            state->operands.row.quantize(from, pixels * state->channels, scale, middle);
        else
            state->operands.row.round(from, pixels * state->channels, middle);
        fill(state, scale, middle + pixels * pixel_bytes(state), behind);
    }
    return NULL;
}

/* ---- products ---- */

/* A block of outputs and a tile of filters. */
typedef struct Block {
    int64_t image, row, rows, column, columns;
    int64_t filter, filters;
} Block;

/* Multiplies the windows' pixels at one place of the kernel, or in one of its rows, with their
 * weights, which begin at group `at` of the panels. */
static void add_products(const Run *run, const Block *block, CpuLowerTile *tile, const char *a,
    int64_t at, int64_t groups, char *sums) {
    const State *state = run->state;
    const CpuLowerForm form = state->operands.form;
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    const int64_t group = cpu_lower_group_bytes(form), most = CPU_LOWER_BLOCK / group;
    const int64_t row_step = state->window.stride[HEIGHT] * pitch_bytes(state);
    for (int64_t k = 0; k < groups; k += most) {
        tile->groups = groups - k < most ? groups - k : most;
        tile->b = (const char *)tile->heads + info->head + (at + k) * group;
        tile->accumulate = at + k > 0;
        for (int64_t row = 0; row < block->rows; row++) {
            tile->a = a + row * row_step + k * info->group * info->row_size;
            tile->out = sums + row * block->columns * CPU_LOWER_COLUMNS * (int64_t)sizeof(float);
            state->operands.product(tile);
        }
    }
}

static void sum_block(const Run *run, const Block *block, const CpuLowerScale *scale, char *sums) {
    const State *state = run->state;
    const Window *window = &state->window;
    const bool whole = window->dilation[WIDTH] == 1;
    const int64_t pieces = whole ? 1 : window->kernel[WIDTH], pixel = pixel_bytes(state);
    const CpuLowerForm form = state->operands.form;
    const int64_t groups =
        cpu_lower_groups(form, state->channels * (whole ? window->kernel[WIDTH] : 1));
    const int64_t panel = cpu_lower_panel_bytes(form, state->operands.depth);
    int32_t zeros[CPU_LOWER_ROWS];
    for (int64_t i = 0; i < block->columns; i++) zeros[i] = cpu_lower_zero(form, scale);
    CpuLowerTile tile = {
        .rows = block->columns,
        .panels = cpu_lower_panels(block->filters),
        .a_row = window->stride[WIDTH] * pixel,
        .b_panel = panel,
        .zeros = zeros,
        .heads = run->panels + block->filter / CPU_LOWER_PANEL * panel,
    };
    const char *first = run->images + block->image * image_bytes(state) +
                        block->row * window->stride[HEIGHT] * pitch_bytes(state) +
                        block->column * window->stride[WIDTH] * pixel;
    for (int64_t i = 0; i < window->kernel[HEIGHT]; i++)
        for (int64_t j = 0; j < pieces; j++) {
            if (kernel_stop_ends()) return;
            add_products(run, block, &tile,
                first + i * window->dilation[HEIGHT] * pitch_bytes(state) +
                    j * window->dilation[WIDTH] * pixel,
                (i * pieces + j) * groups, groups, sums);
        }
}

/* Adds the products of an image's elements that are not finite in the window of an output. */
static void add_infinite(
    const Run *run, const Block *block, int64_t line, int64_t column, float *sums) {
    const State *state = run->state;
    const Window *window = &state->window;
    const int64_t *kernel = window->kernel;
    for (int64_t tap = 0; tap < kernel[HEIGHT] * kernel[WIDTH]; tap++) {
        const int64_t h = line * window->stride[HEIGHT] - window->pad_begin[HEIGHT] +
                          tap / kernel[WIDTH] * window->dilation[HEIGHT];
        const int64_t w = column * window->stride[WIDTH] - window->pad_begin[WIDTH] +
                          tap % kernel[WIDTH] * window->dilation[WIDTH];
        if (h < 0 || h >= window->input[HEIGHT] || w < 0 || w >= window->input[WIDTH]) continue;
        cpu_lower_add_infinite(&state->operands, run->panels,
            image_row(run, block->image, h) + w * state->channels, state->channels,
            tap * state->channels, block->filter, block->filters, sums);
    }
}

static void finish_block(
    const Run *run, const Block *block, const CpuLowerScale *scale, const float *sums) {
    const State *state = run->state;
    const int64_t *output = state->window.output;
    for (int64_t i = 0; i < block->rows * block->columns; i++) {
        const int64_t line = block->row + i / block->columns;
        const int64_t column = block->column + i % block->columns;
        const CpuLowerSpan span = {(block->image * output[HEIGHT] + line) * output[WIDTH] + column,
            block->filter, block->filters};
        float infinite[CPU_LOWER_COLUMNS] = {0};
        if (!scale->finite) add_infinite(run, block, line, column, infinite);
        cpu_lower_finish_row(&state->operands, &run->y, sums + i * CPU_LOWER_COLUMNS, scale->step,
            scale->finite ? NULL : infinite, &span);
    }
}

/* The unit's block. Units go tile by tile of filters, so that their weights stay in the second
 * level cache. */
static Block block_at(const State *state, int64_t unit) {
    const int64_t *output = state->window.output;
    const int64_t blocks = state->row_blocks * state->column_blocks;
    const int64_t at = unit % blocks;
    Block block = {
        .image = unit / blocks % state->images,
        .row = at / state->column_blocks * state->rows,
        .column = at % state->column_blocks * state->columns,
        .filter = unit / (blocks * state->images) * CPU_LOWER_COLUMNS,
    };
    const int64_t rows = output[HEIGHT] - block.row, columns = output[WIDTH] - block.column;
    const int64_t filters = state->operands.columns - block.filter;
    block.rows = rows < state->rows ? rows : state->rows;
    block.columns = columns < state->columns ? columns : state->columns;
    block.filters = filters < CPU_LOWER_COLUMNS ? filters : CPU_LOWER_COLUMNS;
    return block;
}

static Error *run_blocks(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const State *state = run->state;
    union {
        float real[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS];
        int32_t whole[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS];
        char bytes[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS * sizeof(float)];
    } sums;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        TRY(kernel_stop_check());
        const Block block = block_at(state, unit);
        const CpuLowerScale *scale = scale_of(run, block.image);
        sum_block(run, &block, scale, sums.bytes);
        finish_block(run, &block, scale, sums.real);
    }
    return NULL;
}

/* ---- the launch ---- */

static uint64_t units_of(const State *state) {
    return (uint64_t)(state->images * state->row_blocks * state->column_blocks *
                      blocks_of(state->operands.columns, CPU_LOWER_COLUMNS));
}

static Error *prepare_images(CpuDevice *device, uint32_t threads, Run *run) {
    const State *state = run->state;
    const int64_t row = state->window.input[WIDTH] * state->channels;
    if (state->operands.is_int8) {
        TRY(cpu_for_each(device, threads, (uint64_t)(state->images * state->measurements),
            cpu_lower_units_of_elements(row * state->measured_rows), measure, run));
        find_scales(run);
    }
    return cpu_for_each(device, threads, (uint64_t)(state->images * state->padded_rows),
        cpu_lower_units_of_elements(row), prepare_rows, run);
}

static Error *pack(
    CpuDevice *device, const Launch *launch, const State *state, void *turned, void *panels) {
    const int64_t *kernel = state->window.kernel;
    const int64_t dims[4] = {
        state->operands.columns, state->channels, kernel[HEIGHT], kernel[WIDTH]};
    const Shape filters = shape_make(4, dims);
    cpu_lower_turn_filters(state->operands.form, cpu_input(launch, 1), &filters, turned);
    return cpu_lower_pack_plain(device, launch->threads, &state->operands, turned, panels);
}

static Error *launch_conv(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    char *workspace = cpu_workspace(launch);
    (void)output_shapes;
    Run run = {
        .state = state,
        .x = cpu_input(launch, 0),
        .images = workspace,
        .ranges = (CpuLowerRange *)(void *)(workspace + state->ranges_offset),
        .image_scales = (CpuLowerScale *)(void *)(workspace + state->image_scales_offset),
        .panels = workspace + state->panels_offset,
        .y = cpu_lower_results(&state->operands, launch),
    };
    if (units_of(state) == 0) return NULL;
    if (state->operands.is_packed)
        run.panels = (char *)(uintptr_t)launch->inputs[1];
    else
        TRY(pack(device, launch, state, workspace + state->filters_offset, run.panels));
    TRY(prepare_images(device, launch->threads, &run));
    const int64_t cost =
        (state->rows * state->columns + 32) * CPU_LOWER_COLUMNS * state->operands.depth;
    return cpu_for_each(
        device, launch->threads, units_of(state), (uint64_t)(2000000 / cost) + 1, run_blocks, &run);
}

/* ---- the plan ---- */

static int64_t padded(const Window *window, uint32_t dimension) {
    const int64_t there = window->pad_begin[dimension] + window->input[dimension];
    const int64_t seen = window_reach(window, dimension, window->output[dimension]);
    return there > seen ? there : seen;
}

static void cut_rows(State *state, int64_t rows) {
    state->rows = rows;
    state->row_blocks = blocks_of(state->window.output[HEIGHT], rows);
}

/* Chooses the blocks, by shapes alone. */
static void cut(State *state) {
    const Window *window = &state->window;
    const int64_t width = window->output[WIDTH], height = window->output[HEIGHT];
    const int64_t pieces = blocks_of(width, CPU_LOWER_ROWS);
    state->columns = pieces > 0 ? blocks_of(width, pieces) : 1;
    state->column_blocks = blocks_of(width, state->columns);
    const int64_t rows = CPU_LOWER_ROWS / state->columns;
    cut_rows(state, rows < height ? rows : height > 0 ? height : 1);
    while (units_of(state) < UNITS_WANTED && state->rows > 1)
        cut_rows(state, (state->rows + 1) / 2);
    state->measured_rows =
        window->input[HEIGHT] < MEASURED_ROWS_MAX ? window->input[HEIGHT] : MEASURED_ROWS_MAX;
    state->measurements =
        state->measured_rows > 0 ? blocks_of(window->input[HEIGHT], state->measured_rows) : 0;
}

static Error *place_workspace(Plan *plan, State *state) {
    const CpuLowerOperands *operands = &state->operands;
    const CpuLowerFormInfo *info = &cpu_lower_forms[operands->form];
    const int64_t pixels[3] = {state->images, state->padded_rows, state->padded_columns};
    const int64_t ranges[2] = {state->images, state->measurements};
    const int64_t filters[2] = {operands->depth, operands->columns};
    uint64_t total = 0, bytes;
    TRY(cpu_lower_reserve((uint64_t)pixel_bytes(state), 3, pixels, &total));
    state->ranges_offset = total;
    if (operands->is_int8) TRY(cpu_lower_reserve(sizeof(CpuLowerRange), 2, ranges, &total));
    state->image_scales_offset = total;
    if (operands->is_int8) TRY(cpu_lower_reserve(sizeof(CpuLowerScale), 1, &state->images, &total));
    state->filters_offset = state->panels_offset = total;
    if (!operands->is_packed) {
        TRY(cpu_lower_reserve(info->weight_size, 2, filters, &total));
        state->panels_offset = total;
        TRY(cpu_lower_packed_bytes(operands->form, operands->depth, operands->columns, &bytes));
        TRY(cpu_lower_reserve(bytes, 0, NULL, &total));
    }
    plan->workspace_bytes = total > 0 ? total : DEVICE_ALIGNMENT; /* has an address */
    return NULL;
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    ChannelsFirst first;
    OWN(Plan, plan) = NULL;
    if (w->dims[1] % CPU_LOWER_CHANNELS != 0 || w->dims[1] == 0) return cpu_decline(out);
    channels_first_of(request, &first);
    TRY(plan_create(device, request, name, sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(window_of(&first.request, &state->window));
    state->images = x->dims[0];
    state->channels = w->dims[1];
    state->padded_rows = padded(&state->window, HEIGHT);
    state->padded_columns = padded(&state->window, WIDTH);
    TRY(cpu_lower_operands_of(
        device, level, request, shape_product(w, 1, w->rank), w->dims[0], &state->operands));
    cut(state);
    TRY(place_workspace(plan, state));
    plan->launch = launch_conv;
    *out = TAKE(plan);
    return NULL;
}

static Error *plan_bfloat16(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.conv_bfloat16", request, out);
}

static Error *plan_bfloat16_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.conv_bfloat16_portable", request, out);
}

static Error *plan_int8(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, cpu_device(device)->level, "cpu.conv_int8", request, out);
}

const Kernel cpu_lower_conv[] = {
    {OPERATOR_FUSED_CONV_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_bfloat16, "cpu.conv_bfloat16", 0},
    {OPERATOR_FUSED_CONV_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_bfloat16_portable,
        "cpu.conv_bfloat16_portable", KERNEL_PORTABLE},
    {OPERATOR_FUSED_CONV_INT8, DTYPE_BIT(DTYPE_FLOAT32), plan_int8, "cpu.conv_int8",
        KERNEL_PORTABLE},
    KERNELS_END,
};
