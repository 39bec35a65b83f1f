#include "kernels/cpu/conv/cpu_conv_last.h"

#include <string.h>

#include "kernels/cpu/conv/cpu_conv_band.h"

enum {
    HEIGHT = 0,
    WIDTH = 1,
    COLUMNS_STEP = 6,       /* rows of a block of the inner kernel */
    FILTERS_STEP = 16,      /* filters of a unit are a multiple of it */
    UNITS_WANTED = 8,       /* so that several threads get equal work */
    NEAR_WEIGHTS = 1 << 17, /* of all groups: the second level cache keeps them */
    BLOCK_PIXELS_MIN = 24,  /* fewer read the weights more often than that is worth */
};

/* ---- blocks ---- */

static int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

static bool is_pointwise(const Window *window) {
    for (uint32_t i = 0; i < 2; i++)
        if (window->kernel[i] != 1 || window->stride[i] != 1 || window->pad_begin[i] != 0 ||
            window->output[i] != window->input[i])
            return false;
    return true;
}

/* True for an image of one column, as a signal that is given the second dimension last. */
static bool is_column(const Window *window) {
    return window->input[WIDTH] == 1 && window->output[WIDTH] == 1 && window->kernel[WIDTH] == 1;
}

/* Makes rows of columns. A row's pixels are adjacent in its windows, a column's are not. */
static void swap_sides(Window *window) {
    int64_t *const all[] = {window->kernel, window->stride, window->dilation, window->pad_begin,
        window->pad_end, window->input, window->output};
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const int64_t height = all[i][HEIGHT];
        all[i][HEIGHT] = all[i][WIDTH];
        all[i][WIDTH] = height;
    }
}

static int64_t chunks_of(const CpuConvLast *conv) {
    return blocks_of(conv->filters, conv->filters_per_unit);
}

/* The number of blocks of outputs, over all images and groups. */
static int64_t all_blocks(const CpuConvLast *conv) {
    return conv->images * conv->groups * conv->row_blocks * conv->column_blocks;
}

uint64_t cpu_conv_last_units(const CpuConvLast *conv) {
    return (uint64_t)(all_blocks(conv) * chunks_of(conv));
}

static void cut_rows(CpuConvLast *conv, int64_t rows) {
    conv->rows = rows;
    conv->row_blocks = blocks_of(conv->window.output[HEIGHT], rows);
}

/* A row is cut into equal pieces, whole blocks of the inner kernel. */
static void cut_columns(CpuConvLast *conv, int64_t pieces) {
    const int64_t width = conv->window.output[WIDTH];
    conv->columns = width;
    if (pieces > 1)
        conv->columns = blocks_of(blocks_of(width, pieces), COLUMNS_STEP) * COLUMNS_STEP;
    conv->column_blocks = blocks_of(width, conv->columns);
}

/* Cuts few units further: first into parts of panels, which read the same weights, then into
 * smaller blocks. */
static void cut_units(CpuConvLast *conv) {
    while (cpu_conv_last_units(conv) < UNITS_WANTED && conv->filters_per_unit > FILTERS_STEP &&
           conv->filters > conv->filters_per_unit / 2)
        conv->filters_per_unit /= 2;
    while (cpu_conv_last_units(conv) < UNITS_WANTED && conv->rows > 1 &&
           conv->rows * conv->columns >= 2 * BLOCK_PIXELS_MIN)
        cut_rows(conv, (conv->rows + 1) / 2);
    while (cpu_conv_last_units(conv) < UNITS_WANTED && conv->rows == 1 &&
           conv->columns >= 2 * BLOCK_PIXELS_MIN)
        cut_columns(conv, 2 * conv->column_blocks);
}

void cpu_conv_last_prepare(CpuConvLast *conv, CpuLevel level) {
    Window *window = &conv->window;
    conv->code = cpu_matmul_code_for(level);
    conv->epilogue_rows = cpu_epilogue_rows_for(level);
    if (is_pointwise(window)) {
        window->input[WIDTH] = window->output[WIDTH] *= window->output[HEIGHT];
        window->input[HEIGHT] = window->output[HEIGHT] = 1;
    } else if (is_column(window)) {
        swap_sides(window);
    }
    const int64_t height = window->output[HEIGHT];
    cut_columns(conv, blocks_of(window->output[WIDTH], conv->code.rows));
    const int64_t rows = conv->code.rows / conv->columns;
    cut_rows(conv, rows < height ? rows : height);
    conv->filters_per_unit = CPU_MATMUL_PANEL;
    cut_units(conv);
    conv->band_columns = window_reach(window, WIDTH, conv->columns);
    conv->band_rows = window_reach(window, HEIGHT, conv->rows);
    for (uint32_t i = 0; i < 2; i++)
        conv->pads =
            conv->pads || window->pad_begin[i] > 0 ||
            window_reach(window, i, window->output[i]) - window->pad_begin[i] > window->input[i];
    conv->by_position = conv->pads && (window->dilation[HEIGHT] > 1 || window->dilation[WIDTH] > 1);
}

int64_t cpu_conv_last_scratch_count(const CpuConvLast *conv) {
    if (!conv->pads || conv->by_position) return 0;
    return (conv->band_rows * conv->band_columns * conv->channels + 15) / 16 * 16;
}

/* ---- the run ---- */

typedef struct Run {
    const CpuConvLast *conv;
    CpuConvLastBuffers buffers;
    bool pixels_first;
} Run;

/* A block of outputs of one image, and a part of a panel of filters. */
typedef struct Block {
    int64_t image;                      /* a slice of the outputs */
    int64_t row, rows, column, columns; /* of outputs */
    int64_t group, filter, filters;     /* filters of the group */
    CpuSlicesInside slices;             /* that the block's windows read */
    const float *band;                  /* the pixels of one of them */
    int64_t pixel, pitch;               /* floats from pixel to pixel and row to row of the band */
    int64_t windows[CPU_MATMUL_ROWS_MAX]; /* offsets in the band, row by row */
    bool is_even;                         /* all windows are a step apart, also from row to row */
    int64_t step;                         /* from window to window in a row; if even, in all */
    const float *w;                       /* the part of the panel */
    CpuPanelSteps steps;                  /* of the panel */
    int64_t sums_step;                    /* floats from one output's sums to the next's */
} Block;

/* slice: of the input, counted over all images. */
static void find_band(const Run *run, int64_t slice, float *scratch, Block *block) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const int64_t height = window->input[HEIGHT], width = window->input[WIDTH];
    const int64_t row = block->row * window->stride[HEIGHT] - window->pad_begin[HEIGHT];
    const int64_t column = block->column * window->stride[WIDTH] - window->pad_begin[WIDTH];
    const int64_t pixel = conv->groups * conv->channels;
    const float *image =
        run->buffers.x + slice * height * width * pixel + block->group * conv->channels;
    if (!conv->pads || conv->by_position) {
        block->band = image;
        if (!conv->pads) block->band += (row * width + column) * pixel;
        return;
    }
    const CpuConvBand band = {
        .image = image,
        .height = height,
        .width = width,
        .channels = conv->channels,
        .pixel = pixel,
        .row = row,
        .rows = window_reach(window, HEIGHT, block->rows),
        .column = column,
        .columns = window_reach(window, WIDTH, block->columns),
    };
    cpu_conv_band_copy(&band, scratch);
    block->band = scratch;
}

/* The steps between the pixels of a band. */
static void find_pitch(const CpuConvLast *conv, Block *block) {
    const bool copied = conv->pads && !conv->by_position;
    block->pixel = copied ? conv->channels : conv->groups * conv->channels;
    block->pitch = block->pixel * (copied ? window_reach(&conv->window, WIDTH, block->columns)
                                          : conv->window.input[WIDTH]);
}

/* Finds the offset in the band of each output's window. */
static void find_windows(const CpuConvLast *conv, Block *block) {
    const Window *window = &conv->window;
    const int64_t down = window->stride[HEIGHT] * block->pitch;
    const int64_t right = window->stride[WIDTH] * block->pixel;
    block->step = block->columns == 1 ? down : right;
    block->is_even = block->columns == 1 || block->rows == 1 || down == block->columns * right;
    for (int64_t row = 0; row < block->rows; row++)
        for (int64_t column = 0; column < block->columns; column++)
            block->windows[row * block->columns + column] = row * down + column * right;
}

/* The bias, the residual and the destination of one row of the block's outputs. */
static CpuTileFinish finish_of(const Run *run, const Block *block, int64_t row) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const CpuConvLastBuffers *buffers = &run->buffers;
    const int64_t filter = block->group * conv->filters + block->filter;
    const int64_t line = block->image * window->output[HEIGHT] + block->row + row;
    const int64_t pixel = line * window->output[WIDTH] + block->column;
    const int64_t step = conv->groups * conv->filters, at = pixel * step + filter;
    return (CpuTileFinish){
        .bias = conv->has_bias ? buffers->bias + filter : NULL,
        .residual = conv->has_residual ? buffers->residual + at : NULL,
        .relu = conv->epilogue.activation == ACTIVATION_RELU,
        .to = buffers->y + at,
        .to_row = step,
    };
}

/* The calls of the inner kernel for a block: one, or one for each row of outputs. */
static int64_t calls_of(const CpuConvLast *conv, const Block *block) {
    return conv->code.takes_rows || block->is_even ? 1 : block->rows;
}

/* True when the tiles of the last products can also finish the outputs: the activation is linear
 * and the outputs lie at an even step. */
static bool finishes(const CpuConvLast *conv, const Block *block) {
    const bool even =
        calls_of(conv, block) == block->rows || block->columns == conv->window.output[WIDTH];
    const bool any = block->slices.end > block->slices.begin;
    return any && even && !conv->by_position && conv->code.finishes &&
           cpu_epilogue_is_linear(&conv->epilogue);
}

/* Part of a window's weights, from `first` on, times the pixels at `offset` from each window's
 * first pixel in the band. */
typedef struct Piece {
    int64_t first, depth, offset;
    bool is_first, is_last;
} Piece;

static void add_products(const Run *run, const Block *block, const Piece *piece, float *sums) {
    const CpuConvLast *conv = run->conv;
    const int64_t step = conv->code.depth;
    const int64_t calls = calls_of(conv, block);
    CpuMatmulTile tile = {
        .rows = block->rows * block->columns / calls,
        .columns = (block->filters + 7) / 8 * 8, /* whole vectors: panels are filled up */
        .a_row = block->step,
        .a_column = 1,
        .a_rows = conv->code.takes_rows && !block->is_even ? block->windows : NULL,
        .b_row = block->steps.row,
        .b_strip = block->steps.strip,
        .out_row = block->sums_step,
    };
    for (int64_t k = 0; k < piece->depth; k += step) {
        if (kernel_stop_ends()) return;
        const bool finish = piece->is_last && k + step >= piece->depth && finishes(conv, block);
        tile.depth = piece->depth - k < step ? piece->depth - k : step;
        tile.b = block->w + (piece->first + k) * block->steps.row;
        tile.b_next = tile.b + tile.depth * block->steps.row;
        tile.accumulate = !piece->is_first || k > 0;
        if (finish) tile.columns = block->filters;
        for (int64_t i = 0; i < calls; i++) {
            CpuTileFinish row;
            if (finish) row = finish_of(run, block, i);
            tile.a = block->band + block->windows[i * tile.rows] + piece->offset + k;
            tile.out = sums + i * tile.rows * block->sums_step;
            tile.finish = finish ? &row : NULL;
            conv->code.micro(&tile);
        }
    }
}

/* Multiplies runs of pixels that are adjacent in the image and in the kernel. Dilated pixels, and
 * those between other groups, are not adjacent. */
static void sum_slice(const Run *run, const Block *block, int64_t position, float *sums) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const bool whole = window->dilation[WIDTH] == 1 && block->pixel == conv->channels;
    const int64_t pieces = whole ? 1 : window->kernel[WIDTH];
    const int64_t depth = conv->channels * (whole ? window->kernel[WIDTH] : 1);
    const int64_t count = window->kernel[HEIGHT] * pieces;
    for (int64_t i = 0; i < count; i++) {
        const Piece piece = {
            .first = (position * count + i) * depth,
            .depth = depth,
            .offset = i / pieces * window->dilation[HEIGHT] * block->pitch +
                      i % pieces * window->dilation[WIDTH] * block->pixel,
            .is_first = i == 0 && position == block->slices.begin,
            .is_last = i == count - 1 && position == block->slices.end - 1,
        };
        add_products(run, block, &piece, sums);
    }
}

/* ---- padded and dilated ---- */

/* Outputs of a block along one dimension. */
typedef struct Range {
    int64_t begin, end;
} Range;

/* The outputs whose window has the kernel's position inside the image. */
static Range range_inside(
    const Window *window, uint32_t d, int64_t first, int64_t count, int64_t position) {
    const int64_t stride = window->stride[d];
    const int64_t at = first * stride - window->pad_begin[d] + position * window->dilation[d];
    Range inside = {0, count};
    if (at < 0) inside.begin = blocks_of(-at, stride);
    const int64_t end = at < window->input[d] ? blocks_of(window->input[d] - at, stride) : 0;
    if (end < count) inside.end = end;
    if (inside.begin > inside.end) inside.begin = inside.end;
    return inside;
}

/* A position of the kernel, and the outputs of the block to whose sums it adds. */
typedef struct Position {
    int64_t row, column; /* of the kernel */
    Range rows, columns;
} Position;

/* The offset in the image of the pixel that output [row, column] of the block reads. */
static int64_t offset_of(
    const Window *window, const Block *block, const Position *at, int64_t row, int64_t column) {
    row = (block->row + row) * window->stride[HEIGHT] - window->pad_begin[HEIGHT] +
          at->row * window->dilation[HEIGHT];
    column = (block->column + column) * window->stride[WIDTH] - window->pad_begin[WIDTH] +
             at->column * window->dilation[WIDTH];
    return row * block->pitch + column * block->pixel;
}

/* Adds part of the channels of one position: one product for each row of outputs, or one for all
 * rows if their pixels lie at an even step. */
static void add_channels(const Run *run, const Block *block, const Position *at, int64_t channel,
    CpuMatmulTile tile, float *sums) {
    const Window *window = &run->conv->window;
    const int64_t rows = at->rows.end - at->rows.begin;
    const int64_t columns = at->columns.end - at->columns.begin;
    const bool together = columns == block->columns && block->is_even;
    const int64_t calls = together ? 1 : rows;
    tile.rows = rows * columns / calls;
    for (int64_t i = 0; i < calls; i++) {
        const int64_t row = at->rows.begin + i, column = at->columns.begin;
        tile.a = block->band + offset_of(window, block, at, row, column) + channel;
        tile.out = sums + (row * block->columns + column) * block->sums_step;
        run->conv->code.micro(&tile);
        tile.b_next = NULL; /* fetched by the first product */
    }
}

/* Adds the products of one position after the other, each over the outputs whose pixel lies in the
 * image. Windows that are dilated span many more pixels than they read, often most of them outside:
 * copying these costs more than the products, and products with zeros are not needed. */
static void sum_positions(const Run *run, const Block *block, int64_t slice, float *sums) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const int64_t step = conv->code.depth,
                  positions = window->kernel[HEIGHT] * window->kernel[WIDTH];
    CpuMatmulTile tile = {
        .columns = (block->filters + 7) / 8 * 8,
        .a_row = block->step,
        .a_column = 1,
        .b = block->w + slice * positions * conv->channels * block->steps.row,
        .b_row = block->steps.row,
        .b_strip = block->steps.strip,
        .out_row = block->sums_step,
        .accumulate = true,
    };
    for (int64_t i = 0; i < positions; i++) {
        Position at = {.row = i / window->kernel[WIDTH], .column = i % window->kernel[WIDTH]};
        at.rows = range_inside(window, HEIGHT, block->row, block->rows, at.row);
        at.columns = range_inside(window, WIDTH, block->column, block->columns, at.column);
        const bool none = at.rows.begin == at.rows.end || at.columns.begin == at.columns.end;
        for (int64_t k = 0; k < conv->channels; k += tile.depth) {
            if (kernel_stop_ends()) return;
            tile.depth = conv->channels - k < step ? conv->channels - k : step;
            tile.b_next = tile.b + tile.depth * block->steps.row;
            if (!none) add_channels(run, block, &at, k, tile, sums);
            tile.b += tile.depth * block->steps.row;
        }
    }
}

/* Adds the products over all slices that the block's windows see. */
static void sum_block(const Run *run, float *scratch, Block *block, float *sums) {
    const CpuConvLast *conv = run->conv;
    const CpuSlicesInside *slices = &block->slices;
    if (conv->by_position || slices->begin == slices->end)
        memset(sums, 0, (size_t)(block->rows * block->columns * block->sums_step) * sizeof(float));
    for (int64_t i = slices->begin; i < slices->end && !kernel_stop_ends(); i++) {
        find_band(run, slices->first + i * slices->step, scratch, block);
        if (conv->by_position)
            sum_positions(run, block, i, sums);
        else
            sum_slice(run, block, i, sums);
    }
}

static void finish_block(const Run *run, const Block *block, const float *sums) {
    const CpuConvLast *conv = run->conv;
    for (int64_t row = 0; row < block->rows; row++) {
        const CpuTileFinish finish = finish_of(run, block, row);
        const CpuEpilogueRows rows = {
            .rows = block->columns,
            .count = block->filters,
            .sums = sums + row * block->columns * block->sums_step,
            .sums_step = block->sums_step,
            .bias = finish.bias,
            .residual = finish.residual,
            .to = finish.to,
            .to_step = finish.to_row,
        };
        conv->epilogue_rows(&conv->epilogue, &rows);
    }
}

/* The part of the panel that a unit has. */
static void find_filters(const Run *run, int64_t chunk, Block *block) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const int64_t depth =
        conv->slices.kernel * window->kernel[HEIGHT] * window->kernel[WIDTH] * conv->channels;
    block->group = chunk / chunks_of(conv);
    block->filter = chunk % chunks_of(conv) * conv->filters_per_unit;
    const int64_t filters = conv->filters - block->filter;
    const int64_t column = block->filter % CPU_MATMUL_PANEL, first = block->filter - column;
    block->filters = filters < conv->filters_per_unit ? filters : conv->filters_per_unit;
    block->sums_step = cpu_matmul_panel_width(block->filters);
    block->steps =
        cpu_matmul_panel_steps(&conv->code, depth, cpu_matmul_panel_width(conv->filters - first));
    block->w = run->buffers.w + block->group * cpu_matmul_packed_count(depth, conv->filters) +
               first * depth + cpu_matmul_panel_offset(block->steps, column);
}

/* A unit is a panel over blocks of pixels, so that its weights stay in the second level cache, or a
 * block of pixels over panels: groups read the lines that lie beside those of the group before. */
static void run_unit(const Run *run, int64_t unit, float *scratch) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const int64_t blocks = conv->row_blocks * conv->column_blocks;
    const int64_t all = conv->images * blocks, parts = conv->groups * chunks_of(conv);
    const int64_t place = run->pixels_first ? unit / parts : unit % all;
    const int64_t at = place % blocks, image = place / blocks;
    float sums[CPU_MATMUL_ROWS_MAX * CPU_MATMUL_PANEL];
    Block block;
    block.image = image;
    block.row = at / conv->column_blocks * conv->rows;
    block.column = at % conv->column_blocks * conv->columns;
    const int64_t rows = window->output[HEIGHT] - block.row;
    const int64_t columns = window->output[WIDTH] - block.column;
    block.rows = rows < conv->rows ? rows : conv->rows;
    block.columns = columns < conv->columns ? columns : conv->columns;
    find_filters(run, run->pixels_first ? unit % parts : unit / all, &block);
    block.slices = cpu_conv_slices_inside(&conv->slices, image);
    find_pitch(conv, &block);
    find_windows(conv, &block);
    sum_block(run, scratch, &block, sums);
    if (!finishes(conv, &block)) finish_block(run, &block, sums);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Run *run = context;
    float *scratch = NULL;
    if (cpu_conv_last_scratch_count(run->conv) > 0)
        scratch = run->buffers.scratch + part * cpu_conv_last_scratch_count(run->conv);
    for (uint64_t i = begin; i < end; i++) {
        TRY(kernel_stop_check());
        run_unit(run, (int64_t)i, scratch);
    }
    return NULL;
}

int64_t cpu_conv_last_filters_per_unit(
    const CpuDevice *device, uint32_t threads, int64_t blocks, int64_t filters, int64_t least) {
    int64_t size = CPU_MATMUL_PANEL;
    while (size > least &&
           !cpu_is_even(device, threads, (uint64_t)(blocks * blocks_of(filters, size))))
        size /= 2;
    return size;
}

Error *cpu_conv_last_run(CpuDevice *device, const CpuConvLast *planned,
    const CpuConvLastBuffers *buffers, const Launch *launch) {
    CpuConvLast joined = *planned;
    const CpuConvLast *conv = &joined;
    const Window *window = &conv->window;
    Run run = {.conv = conv, .buffers = *buffers};
    joined.filters_per_unit = cpu_conv_last_filters_per_unit(
        device, launch->threads, all_blocks(planned), planned->filters, planned->filters_per_unit);
    const int64_t depth = conv->slices.kernel * window->kernel[HEIGHT] * window->kernel[WIDTH];
    const int64_t columns = depth * conv->groups * conv->filters;
    run.pixels_first =
        (conv->groups > 1 && columns * conv->channels <= NEAR_WEIGHTS) ||
        cpu_matmul_shares_rows(launch->threads,
            conv->images * window->output[HEIGHT] * window->output[WIDTH], columns, conv->channels);
    /* about 20 µs are worth a thread */
    const int64_t cost = (conv->rows * conv->columns + 32) * conv->filters_per_unit *
                             conv->channels * conv->slices.kernel * window->kernel[HEIGHT] *
                             window->kernel[WIDTH] +
                         1;
    return cpu_for_each(device, launch->threads, cpu_conv_last_units(conv),
        (uint64_t)(2000000 / cost) + 1, run_units, &run);
}
