#include "kernels/cpu/cpu_conv_last.h"

#include <string.h>

enum { HEIGHT = 0, WIDTH = 1, COLUMNS_STEP = 6 /* rows of a block of the inner kernel */ };

/* ---- weights ---- */

int64_t cpu_conv_last_packed_count(const Shape *weights) {
    return cpu_matmul_packed_count(shape_product(weights, 1, weights->rank), weights->dims[0]);
}

void cpu_conv_last_pack(const float *weights, const Shape *shape, float *packed) {
    const int64_t filters = shape->dims[0], channels = shape->dims[1];
    const int64_t positions = shape_product(shape, 2, shape->rank), depth = channels * positions;
    for (int64_t first = 0; first < filters; first += CPU_MATMUL_PANEL) {
        const int64_t left = filters - first;
        const int64_t count = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
        const int64_t width = (count + 15) / 16 * 16;
        float *panel = packed + first * depth;
        memset(panel, 0, (size_t)(width * depth) * sizeof(float));
        for (int64_t f = 0; f < count; f++)
            for (int64_t c = 0; c < channels; c++)
                for (int64_t p = 0; p < positions; p++)
                    panel[(p * channels + c) * width + f] =
                        weights[((first + f) * channels + c) * positions + p];
    }
}

/* ---- blocks ---- */

static int64_t reach(const Window *window, uint32_t dimension, int64_t outputs) {
    return (outputs - 1) * window->stride[dimension] +
           (window->kernel[dimension] - 1) * window->dilation[dimension] + 1;
}

static int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

void cpu_conv_last_prepare(CpuConvLast *conv, CpuLevel level) {
    const Window *window = &conv->window;
    const int64_t width = window->output[WIDTH], height = window->output[HEIGHT];
    conv->micro = cpu_matmul_micro_for(level);
    conv->epilogue_row = cpu_epilogue_row_for(level);
    /* a wide row is cut into equal pieces, whole blocks of the inner kernel */
    const int64_t pieces = blocks_of(width, CPU_MATMUL_ROWS);
    conv->columns = width;
    if (pieces > 1)
        conv->columns = blocks_of(blocks_of(width, pieces), COLUMNS_STEP) * COLUMNS_STEP;
    conv->rows = CPU_MATMUL_ROWS / conv->columns;
    if (conv->rows > height) conv->rows = height;
    conv->column_blocks = blocks_of(width, conv->columns);
    conv->row_blocks = blocks_of(height, conv->rows);
    conv->band_columns = reach(window, WIDTH, conv->columns);
    conv->band_rows = reach(window, HEIGHT, conv->rows);
    for (uint32_t i = 0; i < 2; i++)
        conv->pads = conv->pads || window->pad_begin[i] > 0 ||
                     reach(window, i, window->output[i]) - window->pad_begin[i] > window->input[i];
}

static int64_t panels_of(const CpuConvLast *conv) {
    return blocks_of(conv->filters, CPU_MATMUL_PANEL);
}

uint64_t cpu_conv_last_units(const CpuConvLast *conv) {
    return (uint64_t)(conv->images * conv->row_blocks * conv->column_blocks * panels_of(conv));
}

int64_t cpu_conv_last_scratch_count(const CpuConvLast *conv) {
    if (!conv->pads) return 0;
    return (conv->band_rows * conv->band_columns * conv->channels + 15) / 16 * 16;
}

/* ---- the run ---- */

typedef struct Run {
    const CpuConvLast *conv;
    CpuConvLastBuffers buffers;
    const atomic_bool *abandon;
    atomic_bool abandoned;
} Run;

/* A block of outputs of one image, and a panel of filters. */
typedef struct Block {
    int64_t row, rows, column, columns; /* of outputs */
    int64_t filter, filters;
    const float *band; /* the pixels that its windows see */
    int64_t pitch;     /* floats from row to row of the band */
    const float *w;    /* the panel */
    int64_t w_row;     /* its width */
} Block;

/* A row of the band, zeros where there is no image. */
static void copy_row(const CpuConvLast *conv, const float *image, int64_t row, int64_t column,
    int64_t count, float *to) {
    const Window *window = &conv->window;
    const int64_t channels = conv->channels, width = window->input[WIDTH];
    int64_t begin = column < 0 ? -column : 0, end = width - column;
    if (begin > count) begin = count;
    if (end > count) end = count;
    if (end < begin || row < 0 || row >= window->input[HEIGHT]) begin = end = count;
    memset(to, 0, (size_t)(begin * channels) * sizeof(float));
    if (end > begin)
        memcpy(to + begin * channels, image + (row * width + column + begin) * channels,
            (size_t)((end - begin) * channels) * sizeof(float));
    memset(to + end * channels, 0, (size_t)((count - end) * channels) * sizeof(float));
}

static void find_band(const CpuConvLast *conv, const float *image, float *scratch, Block *block) {
    const Window *window = &conv->window;
    const int64_t row = block->row * window->stride[HEIGHT] - window->pad_begin[HEIGHT];
    const int64_t column = block->column * window->stride[WIDTH] - window->pad_begin[WIDTH];
    if (!conv->pads) {
        block->pitch = window->input[WIDTH] * conv->channels;
        block->band = image + row * block->pitch + column * conv->channels;
        return;
    }
    const int64_t rows = reach(window, HEIGHT, block->rows);
    const int64_t columns = reach(window, WIDTH, block->columns);
    block->pitch = columns * conv->channels;
    block->band = scratch;
    for (int64_t i = 0; i < rows; i++)
        copy_row(conv, image, row + i, column, columns, scratch + i * block->pitch);
}

/* depth weights from `at` on times the pixels at `offset` of every window's first one. */
static void add_products(const CpuConvLast *conv, const Block *block, int64_t at, int64_t depth,
    int64_t offset, float *sums) {
    const Window *window = &conv->window;
    CpuMatmulTile tile = {
        .rows = block->columns,
        .columns = block->filters,
        .a_row = window->stride[WIDTH] * conv->channels,
        .a_column = 1,
        .b_row = block->w_row,
        .out_row = CPU_MATMUL_PANEL,
    };
    for (int64_t k = 0; k < depth; k += CPU_MATMUL_DEPTH) {
        tile.depth = depth - k < CPU_MATMUL_DEPTH ? depth - k : CPU_MATMUL_DEPTH;
        tile.b = block->w + (at + k) * block->w_row;
        tile.accumulate = at + k > 0;
        for (int64_t row = 0; row < block->rows; row++) {
            tile.a = block->band + row * window->stride[HEIGHT] * block->pitch + offset + k;
            tile.out = sums + row * block->columns * CPU_MATMUL_PANEL;
            conv->micro(&tile);
        }
    }
}

/* Pixels side by side in the image are side by side in the kernel, too, but for dilated ones. */
static void sum_block(const CpuConvLast *conv, const Block *block, float *sums) {
    const Window *window = &conv->window;
    const bool whole = window->dilation[WIDTH] == 1;
    const int64_t pieces = whole ? 1 : window->kernel[WIDTH];
    const int64_t depth = conv->channels * (whole ? window->kernel[WIDTH] : 1);
    for (int64_t i = 0; i < window->kernel[HEIGHT]; i++)
        for (int64_t j = 0; j < pieces; j++)
            add_products(conv, block, (i * pieces + j) * depth, depth,
                i * window->dilation[HEIGHT] * block->pitch +
                    j * window->dilation[WIDTH] * conv->channels,
                sums);
}

static void finish_block(const Run *run, const Block *block, int64_t image, const float *sums) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const CpuConvLastBuffers *buffers = &run->buffers;
    const float *bias = conv->has_bias ? buffers->bias + block->filter : NULL;
    for (int64_t row = 0; row < block->rows; row++)
        for (int64_t i = 0; i < block->columns; i++, sums += CPU_MATMUL_PANEL) {
            const int64_t line = image * window->output[HEIGHT] + block->row + row;
            const int64_t pixel = line * window->output[WIDTH] + block->column + i;
            const int64_t at = pixel * conv->filters + block->filter;
            conv->epilogue_row(&conv->epilogue, sums, block->filters, bias, 1,
                conv->has_residual ? buffers->residual + at : NULL, buffers->y + at);
        }
}

/* Units: panel by panel, so that its weights stay in the second level cache. */
static void run_unit(const Run *run, int64_t unit, float *scratch) {
    const CpuConvLast *conv = run->conv;
    const Window *window = &conv->window;
    const int64_t blocks = conv->row_blocks * conv->column_blocks;
    const int64_t panel = unit / (conv->images * blocks), image = unit / blocks % conv->images;
    const int64_t at = unit % blocks;
    const int64_t depth = window->kernel[HEIGHT] * window->kernel[WIDTH] * conv->channels;
    float sums[CPU_MATMUL_ROWS * CPU_MATMUL_PANEL];
    Block block = {
        .row = at / conv->column_blocks * conv->rows,
        .column = at % conv->column_blocks * conv->columns,
        .filter = panel * CPU_MATMUL_PANEL,
    };
    const int64_t rows = window->output[HEIGHT] - block.row;
    const int64_t columns = window->output[WIDTH] - block.column;
    const int64_t filters = conv->filters - block.filter;
    block.rows = rows < conv->rows ? rows : conv->rows;
    block.columns = columns < conv->columns ? columns : conv->columns;
    block.filters = filters < CPU_MATMUL_PANEL ? filters : CPU_MATMUL_PANEL;
    block.w = run->buffers.w + block.filter * depth;
    block.w_row = (block.filters + 15) / 16 * 16;
    find_band(conv,
        run->buffers.x + image * window->input[HEIGHT] * window->input[WIDTH] * conv->channels,
        scratch, &block);
    sum_block(conv, &block, sums);
    finish_block(run, &block, image, sums);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Run *run = context;
    float *scratch = NULL;
    if (run->conv->pads)
        scratch = run->buffers.scratch + part * cpu_conv_last_scratch_count(run->conv);
    for (uint64_t i = begin; i < end; i++) {
        if (run->abandon && atomic_load_explicit(run->abandon, memory_order_relaxed)) {
            atomic_store_explicit(&run->abandoned, true, memory_order_relaxed);
            return NULL;
        }
        run_unit(run, (int64_t)i, scratch);
    }
    return NULL;
}

Error *cpu_conv_last_run(CpuDevice *device, const CpuConvLast *conv,
    const CpuConvLastBuffers *buffers, const Launch *launch, bool *out_abandoned) {
    const Window *window = &conv->window;
    Run run = {.conv = conv, .buffers = *buffers, .abandon = launch->abandon};
    atomic_init(&run.abandoned, false);
    /* about 20 µs are worth a thread */
    const int64_t cost = (conv->rows * conv->columns + 32) * CPU_MATMUL_PANEL * conv->channels *
                             window->kernel[HEIGHT] * window->kernel[WIDTH] +
                         1;
    TRY(cpu_for_each(device, launch->threads, cpu_conv_last_units(conv),
        (uint64_t)(2000000 / cost) + 1, run_units, &run));
    if (atomic_load_explicit(&run.abandoned, memory_order_relaxed)) *out_abandoned = true;
    return NULL;
}
