#include "kernels/cpu/bytes/cpu_bytes_conv_internal.h"

enum {
    PIECES_MAX = 32,                    /* that are multiplied at once */
    PIECES_BYTES = 2 * CPU_LOWER_BLOCK, /* of their weights in a panel: half of the nearest cache */
};

/* Multiplies a piece of the windows with its weights, which begin at group `at` of the panels. */
static void add_piece(const CpuBytesRun *run, const CpuBytesBlock *block, CpuLowerTile *tile,
    const char *a, int64_t at, int32_t *sums) {
    const CpuBytesConv *state = run->state;
    const CpuLowerForm form = state->filters.form;
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    const int64_t group = cpu_lower_group_bytes(form), most = CPU_LOWER_BLOCK / group;
    const int64_t groups = cpu_bytes_piece_groups(&state->filters);
    const int64_t row_step =
        state->window.stride[CPU_BYTES_HEIGHT] * cpu_bytes_pitch(&state->images);
    for (int64_t k = 0; k < groups; k += most) {
        if (kernel_stop_ends()) return;
        tile->groups = groups - k < most ? groups - k : most;
        tile->b = (const char *)tile->heads + info->head + (at + k) * group;
        tile->accumulate = at + k > 0;
        tile->a = a + k * info->group * info->row_size;
        tile->out = sums;
        for (int64_t row = 0; row < block->rows; row++) {
            state->product(tile);
            tile->a = (const char *)tile->a + row_step;
            tile->out = (int32_t *)tile->out + block->pixels * CPU_LOWER_COLUMNS;
        }
    }
}

const char *cpu_bytes_first_window(const CpuBytesRun *run, const CpuBytesBlock *block) {
    const CpuBytesImages *images = &run->state->images;
    const Window *window = &run->state->window;
    return run->images +
           (block->image * images->padded_height + block->row * window->stride[CPU_BYTES_HEIGHT]) *
               cpu_bytes_pitch(images) +
           block->pixel * window->stride[CPU_BYTES_WIDTH] * cpu_bytes_pixel(images);
}

/* Bytes from a pixel's first channel to the first one of the block's group. */
static int64_t group_offset(const CpuBytesConv *state, const CpuBytesBlock *block) {
    const CpuBytesFilters *filters = &state->filters;
    return block->group * filters->channels * cpu_lower_forms[filters->form].row_size;
}

/* Where the windows of a block lie, from the first one. */
static void find_windows(const CpuBytesConv *state, const CpuBytesBlock *block, int64_t *out) {
    const int64_t down = state->window.stride[CPU_BYTES_HEIGHT] * cpu_bytes_pitch(&state->images);
    const int64_t right = state->window.stride[CPU_BYTES_WIDTH] * cpu_bytes_pixel(&state->images);
    for (int64_t row = 0; row < block->rows; row++)
        for (int64_t i = 0; i < block->pixels; i++) *out++ = row * down + i * right;
}

/* Multiplies all rows of the block with several pieces at once. */
static void add_pieces(
    const CpuBytesRun *run, const CpuBytesBlock *block, CpuLowerTile *tile, int32_t *sums) {
    const CpuBytesConv *state = run->state;
    const CpuBytesFilters *filters = &state->filters;
    const CpuLowerFormInfo *info = &cpu_lower_forms[filters->form];
    const int64_t *dilation = state->window.dilation;
    const int64_t pitch = dilation[CPU_BYTES_HEIGHT] * cpu_bytes_pitch(&state->images);
    const int64_t pixel = dilation[CPU_BYTES_WIDTH] * cpu_bytes_pixel(&state->images);
    const int64_t groups = cpu_bytes_piece_groups(filters), all = cpu_bytes_pieces(filters);
    const int64_t group = cpu_lower_group_bytes(filters->form);
    const int64_t line = filters->by_rows ? 1 : filters->width;
    const int64_t longest = CPU_LOWER_BLOCK / group, fit = PIECES_BYTES / (groups * group);
    const int64_t most = fit < 1 ? 1 : fit < PIECES_MAX ? fit : PIECES_MAX;
    int64_t offsets[CPU_LOWER_ROWS], pieces[PIECES_MAX];
    find_windows(state, block, offsets);
    tile->rows = block->rows * block->pixels;
    tile->offsets = offsets;
    tile->pieces = pieces;
    tile->out = sums;
    for (int64_t first = 0; first < all; first += most) {
        tile->piece_count = all - first < most ? all - first : most;
        for (int64_t i = 0; i < tile->piece_count; i++)
            pieces[i] = (first + i) / line * pitch + (first + i) % line * pixel;
        const int64_t length = most > 1 ? groups : longest;
        for (int64_t k = 0; k < groups; k += length) {
            if (kernel_stop_ends()) return;
            tile->groups = groups - k < length ? groups - k : length;
            tile->b = (const char *)tile->heads + info->head + (first * groups + k) * group;
            tile->b_next = first + tile->piece_count < all || k + length < groups
                               ? (const char *)tile->b + tile->piece_count * tile->groups * group
                               : NULL;
            tile->accumulate = first + k > 0;
            state->product(tile);
            pieces[0] += length * info->group * info->row_size;
        }
    }
}

/* panels: the block's first one. */
static void sum_products(const CpuBytesRun *run, const CpuBytesBlock *block, const char *panels,
    int64_t panel_count, int32_t *sums) {
    const CpuBytesConv *state = run->state;
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
        .a_row = window->stride[CPU_BYTES_WIDTH] * pixel,
        .b_panel = cpu_bytes_panel_bytes(filters),
        .zeros = zeros,
        .heads = panels,
    };
    const char *first = cpu_bytes_first_window(run, block) + group_offset(state, block);
    if (cpu_lower_takes_offsets(filters->form)) {
        tile.a = first;
        add_pieces(run, block, &tile, sums);
        return;
    }
    for (int64_t i = 0; i < window->kernel[CPU_BYTES_HEIGHT]; i++)
        for (int64_t j = 0; j < pieces; j++)
            add_piece(run, block, &tile,
                first + i * window->dilation[CPU_BYTES_HEIGHT] * pitch +
                    j * window->dilation[CPU_BYTES_WIDTH] * pixel,
                (i * pieces + j) * groups, sums);
}

/* Where the sums take the weights' zero points off by themselves. */
static bool takes_zeros(const CpuBytesConv *state) {
    return state->filters.is_depthwise && state->filters.form == CPU_LOWER_INT8;
}

static void sum_channels(
    const CpuBytesRun *run, const CpuBytesBlock *block, const char *weights, int32_t *sums) {
    const CpuBytesConv *state = run->state;
    const bool takes = run->has_zeros && takes_zeros(state);
    const int64_t row_step =
        state->window.stride[CPU_BYTES_HEIGHT] * cpu_bytes_pitch(&state->images);
    const char *first = cpu_bytes_first_window(run, block) +
                        block->filter * cpu_lower_forms[state->filters.form].row_size;
    CpuBytesDepthwise sum = {
        .pixels = block->pixels,
        .taps = cpu_bytes_taps(&state->filters),
        .channels = block->filters,
        .pixel = state->window.stride[CPU_BYTES_WIDTH] * cpu_bytes_pixel(&state->images),
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

static void sum_windows(const CpuBytesRun *run, const CpuBytesBlock *block, int32_t *out) {
    const CpuBytesConv *state = run->state;
    const Window *window = &state->window;
    const CpuBytesFilters *filters = &state->filters;
    const int64_t pixel = cpu_bytes_pixel(&state->images), pitch = cpu_bytes_pitch(&state->images);
    const CpuBytesWindows windows = {
        .rows = block->rows,
        .columns = block->pixels,
        .down = window->stride[CPU_BYTES_HEIGHT] * pitch,
        .right = window->stride[CPU_BYTES_WIDTH] * pixel,
        .lines = filters->height,
        .pieces = filters->by_rows ? 1 : filters->width,
        .piece = filters->channels * (filters->by_rows ? filters->width : 1),
        .line_step = window->dilation[CPU_BYTES_HEIGHT] * pitch,
        .piece_step = window->dilation[CPU_BYTES_WIDTH] * pixel,
        .first = cpu_bytes_first_window(run, block) + group_offset(state, block),
    };
    state->sum_windows(&windows, out);
}

void cpu_bytes_subtract_zeros(const CpuBytesRun *run, const CpuBytesBlock *block, int32_t *sums) {
    const CpuBytesConv *state = run->state;
    const int64_t first = block->group * state->columns + block->filter;
    const int64_t count = block->rows * block->pixels;
    int32_t windows[CPU_BYTES_SUMS];
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

void cpu_bytes_sum_block(const CpuBytesRun *run, const CpuBytesBlock *block, int32_t *sums) {
    const CpuBytesConv *state = run->state;
    const int64_t bytes = cpu_bytes_panel_bytes(&state->filters);
    const int64_t tile = block->filter / CPU_LOWER_PANEL;
    if (state->filters.is_depthwise)
        sum_channels(run, block, run->panels + block->filter / CPU_BYTES_CHANNELS * bytes, sums);
    else
        sum_products(run, block,
            run->panels + (block->group * cpu_lower_panels(state->columns) + tile) * bytes,
            cpu_lower_panels(block->filters), sums);
    if (run->has_zeros && !takes_zeros(state)) cpu_bytes_subtract_zeros(run, block, sums);
}
