#include "kernels/cpu/conv/cpu_conv_last_depthwise.h"

#include "kernels/cpu/core/cpu_vector.h"

enum {
    HEIGHT = 0,
    WIDTH = 1,
    /* Channels that a row is computed and ended with before the next ones: their weights and sums
     * stay in the first level cache. A last block has fewer than a vector more. */
    BLOCK_CHANNELS = 64,
    BLOCK_CHANNELS_NARROW = 128, /* of rows of few pixels */
    NARROW_PIXELS = 28,
    LEAST_CHANNELS = 16,
};

int64_t cpu_conv_last_depthwise_packed_count(const Shape *weights) {
    return shape_count_unchecked(weights);
}

void cpu_conv_last_depthwise_pack(const float *weights, const Shape *shape, float *packed) {
    const int64_t channels = shape->dims[0], positions = shape_product(shape, 1, shape->rank);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t p = 0; p < positions; p++)
            packed[p * channels + c] = weights[c * positions + p];
}

/* ---- sums ---- */

/* PIXELS outputs of VECTORS × LANES channels; the tile's first element is at x and y. */
#define DEFINE_TILE(level, TARGET, LANES, PIXELS, VECTORS)                                         \
    TARGET CPU_SPECIALISED void tile_##level##_##PIXELS##x##VECTORS(                               \
        const CpuConvLastDepthwise *conv, const float *x, const float *w,                          \
        const CpuDepthwisePositions *inside, float *y) {                                           \
        const int64_t channels = conv->channels, count = inside->columns;                          \
        const int64_t step = conv->window.stride[WIDTH] * channels;                                \
        const int64_t next = conv->window.dilation[WIDTH] * channels;                              \
        const int64_t row = conv->window.input[WIDTH] * channels;                                  \
        const int64_t pitch = conv->window.dilation[HEIGHT] * row;                                 \
        const int64_t slab = conv->slices.dilation * conv->window.input[HEIGHT] * row;             \
        const int64_t line = conv->window.kernel[WIDTH] * channels;                                \
        const int64_t plane = conv->window.kernel[HEIGHT] * line;                                  \
        Vector_##level sums[PIXELS][VECTORS];                                                      \
        CPU_UNROLL for (int p = 0; p < (PIXELS); p++)                                              \
            CPU_UNROLL for (int v = 0; v < (VECTORS); v++) sums[p][v] = (Vector_##level){0};       \
        for (int64_t s = 0; s < inside->slices; s++)                                               \
            for (int64_t i = 0; i < inside->rows; i++)                                             \
                for (int64_t j = 0; j < count; j++) {                                              \
                    const float *from = x + s * slab + i * pitch + j * next;                       \
                    const float *factors = w + s * plane + i * line + j * channels;                \
                    CPU_UNROLL for (int v = 0; v < (VECTORS); v++) {                               \
                        const Vector_##level factor =                                              \
                            *(const Unaligned_##level *)(factors + v * (LANES));                   \
                        CPU_UNROLL for (int p = 0; p < (PIXELS); p++) sums[p][v] +=                \
                            *(const Unaligned_##level *)(from + p * step + v * (LANES)) * factor;  \
                    }                                                                              \
                }                                                                                  \
        CPU_UNROLL for (int p = 0; p < (PIXELS); p++)                                              \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) *                                   \
            (Unaligned_##level *)(y + p * channels + v * (LANES)) = sums[p][v];                    \
    }                                                                                              \
    struct tile_needs_semicolon

/* Processes a row of pixels of VECTORS × LANES channels: their part of the image and of the weights
 * stays in the first level cache. */
#define DEFINE_SPAN(level, TARGET, LANES, VECTORS)                                                 \
    DEFINE_TILE(level, TARGET, LANES, 4, VECTORS);                                                 \
    DEFINE_TILE(level, TARGET, LANES, 3, VECTORS);                                                 \
    DEFINE_TILE(level, TARGET, LANES, 2, VECTORS);                                                 \
    DEFINE_TILE(level, TARGET, LANES, 1, VECTORS);                                                 \
    TARGET CPU_SPECIALISED void span_##level##_##VECTORS(const CpuConvLastDepthwise *conv,         \
        const float *x, const float *w, const CpuDepthwisePositions *inside, int64_t pixels,       \
        float *y) {                                                                                \
        const int64_t step = conv->window.stride[WIDTH] * conv->channels;                          \
        for (; pixels >= 4; pixels -= 4, x += 4 * step, y += 4 * conv->channels)                   \
            tile_##level##_4x##VECTORS(conv, x, w, inside, y);                                     \
        if (pixels == 3)                                                                           \
            tile_##level##_3x##VECTORS(conv, x, w, inside, y);                                     \
        else if (pixels == 2)                                                                      \
            tile_##level##_2x##VECTORS(conv, x, w, inside, y);                                     \
        else if (pixels == 1)                                                                      \
            tile_##level##_1x##VECTORS(conv, x, w, inside, y);                                     \
    }                                                                                              \
    struct span_needs_semicolon

/* Processes at least LANES channels; fewer go to `narrower`. The last vector ends with the last
 * channel. One pixel takes more channels at once, so that no sum waits for the one before. */
#define DEFINE_PIXELS(level, TARGET, LANES, narrower)                                              \
    typedef float Vector_##level __attribute__((vector_size(4 * (LANES))));                        \
    typedef float Unaligned_##level                                                                \
        __attribute__((vector_size(4 * (LANES)), aligned(4), may_alias));                          \
    DEFINE_SPAN(level, TARGET, LANES, 2);                                                          \
    DEFINE_SPAN(level, TARGET, LANES, 1);                                                          \
    DEFINE_TILE(level, TARGET, LANES, 1, 4);                                                       \
    TARGET static void pixels_##level(const CpuConvLastDepthwise *conv, const float *x,            \
        const float *w, const CpuDepthwisePositions *inside, int64_t pixels, int64_t channels,     \
        float *y) {                                                                                \
        if (channels < (LANES)) {                                                                  \
            narrower(conv, x, w, inside, pixels, channels, y);                                     \
            return;                                                                                \
        }                                                                                          \
        int64_t c = 0;                                                                             \
        for (; pixels == 1 && c + 4 * (LANES) <= channels; c += 4 * (LANES))                       \
            tile_##level##_1x4(conv, x + c, w + c, inside, y + c);                                 \
        for (; c + 2 * (LANES) <= channels; c += 2 * (LANES))                                      \
            span_##level##_2(conv, x + c, w + c, inside, pixels, y + c);                           \
        for (; c < channels; c += (LANES)) {                                                       \
            if (c + (LANES) > channels) c = channels - (LANES);                                    \
            span_##level##_1(conv, x + c, w + c, inside, pixels, y + c);                           \
        }                                                                                          \
    }                                                                                              \
    struct pixels_need_semicolon

static void no_pixels(const CpuConvLastDepthwise *conv, const float *x, const float *w,
    const CpuDepthwisePositions *inside, int64_t pixels, int64_t channels, float *y) {
    (void)conv, (void)x, (void)w, (void)inside, (void)pixels, (void)channels, (void)y;
}

DEFINE_PIXELS(one, , 1, no_pixels);
DEFINE_PIXELS(portable, , 4, pixels_one);
#if defined(__x86_64__)
DEFINE_PIXELS(avx2, CPU_TARGET_AVX2, 8, pixels_portable);
DEFINE_PIXELS(avx512, CPU_TARGET_AVX512, 16, pixels_avx2);
#endif

static CpuDepthwisePixels *pixels_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return pixels_avx512;
    if (level == CPU_LEVEL_AVX2) return pixels_avx2;
#endif
    (void)level;
    return pixels_portable;
}

/* ---- the run ---- */

typedef struct Run {
    const CpuConvLastDepthwise *conv;
    CpuConvLastBuffers buffers;
} Run;

/* The kernel positions [begin, end) inside the image for an output. */
typedef struct Reach {
    int64_t begin, end;
    int64_t at; /* coordinate of position 0 in the image */
} Reach;

static Reach reach_of(const Window *window, uint32_t dimension, int64_t output) {
    const int64_t dilation = window->dilation[dimension], size = window->input[dimension];
    const int64_t at = output * window->stride[dimension] - window->pad_begin[dimension];
    Reach reach = {at < 0 ? (-at + dilation - 1) / dilation : 0, 0, at};
    if (size > at) reach.end = (size - at + dilation - 1) / dilation;
    if (reach.end > window->kernel[dimension]) reach.end = window->kernel[dimension];
    if (reach.end < reach.begin) reach.end = reach.begin;
    return reach;
}

void cpu_conv_last_depthwise_prepare(CpuConvLastDepthwise *conv, CpuLevel level) {
    const Window *window = &conv->window;
    const int64_t width = window->output[WIDTH];
    conv->epilogue_rows = cpu_epilogue_rows_for(level);
    conv->pixels = pixels_for(level);
    conv->first_whole = 0;
    while (conv->first_whole < width && reach_of(window, WIDTH, conv->first_whole).begin > 0)
        conv->first_whole++;
    conv->end_whole = width;
    while (conv->end_whole > conv->first_whole &&
           reach_of(window, WIDTH, conv->end_whole - 1).end < window->kernel[WIDTH])
        conv->end_whole--;
}

/* A block of channels of a row of outputs. */
typedef struct Block {
    const float *image, *w; /* from the block's first channel on, as `y` */
    int64_t channels;
    CpuSlicesInside slices;
    Reach rows;
    float *y;
} Block;

/* Outputs of a row whose windows have the same columns inside. */
static void sum_pixels(
    const CpuConvLastDepthwise *conv, const Block *block, int64_t column, int64_t pixels) {
    const Window *window = &conv->window;
    const Reach columns = reach_of(window, WIDTH, column), *rows = &block->rows;
    const CpuSlicesInside *slices = &block->slices;
    const CpuDepthwisePositions inside = {
        slices->end - slices->begin, rows->end - rows->begin, columns.end - columns.begin};
    const float *x = block->image, *w = block->w;
    if (inside.slices > 0 && inside.rows > 0 && inside.columns > 0) {
        const int64_t slice = slices->first + slices->begin * slices->step;
        const int64_t row = rows->at + rows->begin * window->dilation[HEIGHT];
        x += ((slice * window->input[HEIGHT] + row) * window->input[WIDTH] + columns.at +
                 columns.begin * window->dilation[WIDTH]) *
             conv->channels;
        w += ((slices->begin * window->kernel[HEIGHT] + rows->begin) * window->kernel[WIDTH] +
                 columns.begin) *
             conv->channels;
    }
    conv->pixels(conv, x, w, &inside, pixels, block->channels, block->y + column * conv->channels);
}

static void sum_block(const CpuConvLastDepthwise *conv, const Block *block) {
    for (int64_t i = 0; i < conv->first_whole; i++) sum_pixels(conv, block, i, 1);
    if (conv->end_whole > conv->first_whole)
        sum_pixels(conv, block, conv->first_whole, conv->end_whole - conv->first_whole);
    for (int64_t i = conv->end_whole; i < conv->window.output[WIDTH]; i++)
        sum_pixels(conv, block, i, 1);
}

static void run_row(const Run *run, int64_t image, int64_t row) {
    const CpuConvLastDepthwise *conv = run->conv;
    const Window *window = &conv->window;
    const int64_t channels = conv->channels, width = window->output[WIDTH];
    const int64_t at = (image * window->output[HEIGHT] + row) * width * channels;
    const int64_t most = width <= NARROW_PIXELS ? BLOCK_CHANNELS_NARROW : BLOCK_CHANNELS;
    Block block = {
        .slices = cpu_conv_slices_inside(&conv->slices, image),
        .rows = reach_of(window, HEIGHT, row),
    };
    for (int64_t c = 0; c < channels; c += block.channels) {
        const int64_t left = channels - c;
        block.channels = left < most + LEAST_CHANNELS ? left : most;
        block.image = run->buffers.x + c;
        block.w = run->buffers.w + c;
        block.y = run->buffers.y + at + c;
        sum_block(conv, &block);
        const CpuEpilogueRows all = {
            .rows = width,
            .count = block.channels,
            .sums = block.y,
            .sums_step = channels,
            .bias = conv->has_bias ? run->buffers.bias + c : NULL,
            .residual = conv->has_residual ? run->buffers.residual + at + c : NULL,
            .to = block.y,
            .to_step = channels,
        };
        conv->epilogue_rows(&conv->epilogue, &all);
    }
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const int64_t rows = run->conv->window.output[HEIGHT];
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        TRY(kernel_stop_check());
        run_row(run, i / rows, i % rows);
    }
    return NULL;
}

Error *cpu_conv_last_depthwise_run(CpuDevice *device, const CpuConvLastDepthwise *conv,
    const CpuConvLastBuffers *buffers, const Launch *launch) {
    const Window *window = &conv->window;
    Run run = {.conv = conv, .buffers = *buffers};
    /* about 20 µs are worth a thread */
    const int64_t cost =
        window->output[WIDTH] * conv->channels *
            (conv->slices.kernel * window->kernel[HEIGHT] * window->kernel[WIDTH] + 4) +
        1;
    return cpu_for_each(device, launch->threads, (uint64_t)(conv->images * window->output[HEIGHT]),
        (uint64_t)(250000 / cost) + 1, run_rows, &run);
}
