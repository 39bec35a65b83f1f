#include "kernels/cpu/conv/cpu_winograd.h"

#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"

enum {
    TILE = 6,   /* pixels of a side */
    OUTPUT = 4, /* and outputs */
    POSITIONS = TILE * TILE,
    BLOCK = 24,             /* tiles multiplied at once: rows of four blocks of the inner kernel */
    GROUP_FLOATS = 1 << 18, /* floats of transformed tiles: 1 MiB stays in the second level cache */
    SUMS = POSITIONS * BLOCK * CPU_MATMUL_PANEL,
    FILTERS_STEP = 16, /* columns of the inner kernel */
    UNITS_WANTED = 8,  /* so that several threads get equal work */
};

/* ---- weights ---- */

bool cpu_winograd_takes(const CpuRules *rules, const Attributes *attributes, const Shape *weights) {
    uint32_t count;
    const int64_t *strides = attributes_ints(attributes, "strides", &count);
    for (uint32_t i = 0; i < count; i++)
        if (strides[i] != 1) return false;
    const int64_t *dilations = attributes_ints(attributes, "dilations", &count);
    for (uint32_t i = 0; i < count; i++)
        if (dilations[i] != 1) return false;
    const uint32_t rank = weights->rank;
    if ((rank != 4 && rank != 5) || weights->dims[rank - 2] != 3 || weights->dims[rank - 1] != 3)
        return false;
    if (attributes_int(attributes, "group") != 1) return false;
    if (weights->dims[1] < CPU_VECTOR_LANES) return false; /* see the transforms */
    const int64_t least = cpu_rule(rules, CPU_RULE_WINOGRAD_CHANNELS_MIN);
    if (weights->dims[0] < least || weights->dims[1] < least) return false;
    /* transformed weights are four times as large: for small images, reading them takes more time
     * than the saved products */
    const int64_t pixels = attributes_int(attributes, "pixels");
    if (pixels > 0) return pixels >= cpu_rule(rules, CPU_RULE_WINOGRAD_PIXELS_MIN);
    return weights->dims[1] < cpu_rule(rules, CPU_RULE_WINOGRAD_CHANNELS_END);
}

/* Kernel slices × channels. */
static int64_t depth_of(const Shape *weights) {
    return shape_product(weights, 1, weights->rank - 2);
}

int64_t cpu_winograd_packed_count(const Shape *weights) {
    return POSITIONS * cpu_matmul_packed_count(depth_of(weights), weights->dims[0]);
}

/* Transforms the kernels of LANES filters at one channel: filter f's nine weights begin at
 * weights + f * filter_step; its result of position p goes to to[p * position_step + f]. Each
 * operation is the same for every width of a vector, and so are the results. */
#define DEFINE_PACK(level, TARGET, LANES)                                                          \
    typedef double Doubles_##level __attribute__((vector_size(8 * (LANES))));                      \
    typedef float Floats_##level __attribute__((vector_size(4 * (LANES)), aligned(4), may_alias)); \
    TARGET CPU_INLINE void pack_line_##level(                                                      \
        const Doubles_##level *g, int step, Doubles_##level *to, int to_step) {                    \
        const Doubles_##level a = g[0], b = g[step], c = g[2 * step];                              \
        to[0] = 1.0 / 4 * a + 0.0 * b + 0.0 * c;                                                   \
        to[to_step] = -1.0 / 6 * a + -1.0 / 6 * b + -1.0 / 6 * c;                                  \
        to[2 * to_step] = -1.0 / 6 * a + 1.0 / 6 * b + -1.0 / 6 * c;                               \
        to[3 * to_step] = 1.0 / 24 * a + 1.0 / 12 * b + 1.0 / 6 * c;                               \
        to[4 * to_step] = 1.0 / 24 * a + -1.0 / 12 * b + 1.0 / 6 * c;                              \
        to[5 * to_step] = 0.0 * a + 0.0 * b + 1.0 * c;                                             \
    }                                                                                              \
    TARGET static void pack_##level(                                                               \
        const float *weights, int64_t filter_step, int64_t position_step, float *to) {             \
        Doubles_##level kernel[9], half[TILE * 3], line[TILE];                                     \
        for (int k = 0; k < 9; k++)                                                                \
            for (int f = 0; f < (LANES); f++) kernel[k][f] = (double)weights[f * filter_step + k]; \
        CPU_UNROLL for (int j = 0; j < 3; j++) pack_line_##level(kernel + j, 3, half + j, 3);      \
        CPU_UNROLL for (int i = 0; i < TILE; i++) {                                                \
            pack_line_##level(half + i * 3, 1, line, 1);                                           \
            CPU_UNROLL for (int j = 0; j < TILE; j++) *                                            \
                (Floats_##level *)(to + (i * TILE + j) * position_step) =                          \
                __builtin_convertvector(line[j], Floats_##level);                                  \
        }                                                                                          \
    }                                                                                              \
    struct pack_needs_semicolon

typedef void PackKernels(
    const float *weights, int64_t filter_step, int64_t position_step, float *to);
typedef struct Pack {
    PackKernels *run;
    int64_t lanes;
} Pack;

DEFINE_PACK(one, , 1);
DEFINE_PACK(portable, , 2);
#if defined(__x86_64__)
DEFINE_PACK(avx2, CPU_TARGET_AVX2, 4);
DEFINE_PACK(avx512, CPU_TARGET_AVX512, 8);
#endif

static Pack choose_pack(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX2) return (Pack){pack_avx2, 4};
    if (level == CPU_LEVEL_AVX512) return (Pack){pack_avx512, 8};
#endif
    (void)level;
    return (Pack){pack_portable, 2};
}

/* The kernels of a panel's filters at one channel. */
static void pack_channel(const Pack *pack, const float *weights, int64_t filter_step,
    int64_t filters, CpuPanelSteps steps, int64_t position_step, float *to) {
    const Pack one = {pack_one, 1};
    for (int64_t f = 0; f < filters;) {
        const Pack *fit = filters - f >= pack->lanes ? pack : &one;
        fit->run(weights + f * filter_step, filter_step, position_step,
            to + cpu_matmul_panel_offset(steps, f));
        f += fit->lanes;
    }
}

/* In order: panels of filters; in each panel the positions; for each position a panel of a matrix
 * [kernel slices × C, filters]. */
void cpu_winograd_pack(CpuLevel level, const float *weights, const Shape *shape, float *packed) {
    const CpuMatmulCode code = cpu_matmul_code_for(level);
    const int64_t filters = shape->dims[0], depth = depth_of(shape);
    const int64_t channels = shape->dims[1], slices = depth / channels;
    const Pack pack = choose_pack(level);
    KernelStopMeter meter = {0};
    for (int64_t first = 0; first < filters; first += CPU_MATMUL_PANEL) {
        const int64_t left = filters - first;
        const int64_t count = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
        const int64_t width = cpu_matmul_panel_width(left);
        const CpuPanelSteps steps = cpu_matmul_panel_steps(&code, depth, width);
        float *panel = packed + first * depth * POSITIONS;
        if (count < width) /* the columns behind the last filter are zero */
            memset(panel, 0, (size_t)(width * depth * POSITIONS) * sizeof(float));
        for (int64_t i = 0; i < depth; i++) {
            if (kernel_stop_ends_after(&meter, 32 * (uint64_t)count)) return;
            const int64_t at = i % channels * slices + i / channels;
            pack_channel(&pack, weights + (first * depth + at) * 9, depth * 9, count, steps,
                depth * width, panel + i * steps.row);
        }
    }
}

/* ---- transforms ---- */

/* Uses the vectors of the level, since gcc moves wider ones through memory. The last vector of a
 * pixel ends with its last channel; a pixel has at least one widest vector of channels. */
#define DEFINE_TRANSFORMS(level, TARGET, LANES)                                                    \
    typedef float Vector_##level __attribute__((vector_size(4 * (LANES))));                        \
    typedef float Unaligned_##level                                                                \
        __attribute__((vector_size(4 * (LANES)), aligned(4), may_alias));                          \
    TARGET CPU_INLINE void enter_line_##level(                                                     \
        const Vector_##level *d, int step, Vector_##level *to) {                                   \
        const Vector_##level a = d[4 * step] - 4 * d[2 * step], b = d[3 * step] - 4 * d[step];     \
        const Vector_##level e = d[4 * step] - d[2 * step], f = 2 * (d[3 * step] - d[step]);       \
        to[0] = 4 * d[0] - 5 * d[2 * step] + d[4 * step];                                          \
        to[step] = a + b;                                                                          \
        to[2 * step] = a - b;                                                                      \
        to[3 * step] = e + f;                                                                      \
        to[4 * step] = e - f;                                                                      \
        to[5 * step] = 4 * d[step] - 5 * d[3 * step] + d[5 * step];                                \
    }                                                                                              \
    /* Transforms a tile's pixels, channel by channel, to positions that are `step` apart. */      \
    TARGET static void enter_##level(                                                              \
        const float *const *pixels, int64_t channels, int64_t step, float *to) {                   \
        for (int64_t next = 0; next < channels; next += (LANES)) {                                 \
            const int64_t c = next + (LANES) > channels ? channels - (LANES) : next;               \
            Vector_##level tile[POSITIONS], half[POSITIONS];                                       \
            CPU_UNROLL for (int p = 0; p < POSITIONS; p++) tile[p] =                               \
                *(const Unaligned_##level *)(pixels[p] + c);                                       \
            CPU_UNROLL for (int i = 0; i < TILE; i++)                                              \
                enter_line_##level(tile + i, TILE, half + i);                                      \
            CPU_UNROLL for (int i = 0; i < TILE; i++)                                              \
                enter_line_##level(half + i * TILE, 1, tile + i * TILE);                           \
            CPU_UNROLL for (int p = 0; p < POSITIONS; p++) *                                       \
                (Unaligned_##level *)(to + p * step + c) = tile[p];                                \
        }                                                                                          \
    }                                                                                              \
    TARGET CPU_INLINE void leave_line_##level(                                                     \
        const Vector_##level *m, int step, Vector_##level *to, int to_step) {                      \
        const Vector_##level a = m[step] + m[2 * step], b = m[step] - m[2 * step];                 \
        const Vector_##level e = m[3 * step] + m[4 * step], f = m[3 * step] - m[4 * step];         \
        to[0] = m[0] + a + e;                                                                      \
        to[to_step] = b + 2 * f;                                                                   \
        to[2 * to_step] = a + 4 * e;                                                               \
        to[3 * to_step] = b + 8 * f + m[5 * step];                                                 \
    }                                                                                              \
    /* Transforms a tile's sums, positions `step` apart, to outputs [4][4][CPU_MATMUL_PANEL]. */   \
    TARGET static void leave_##level(                                                              \
        const float *sums, int64_t step, int64_t filters, float *to) {                             \
        for (int64_t f = 0; f < filters; f += (LANES)) {                                           \
            Vector_##level tile[POSITIONS], half[OUTPUT * TILE], out[OUTPUT * OUTPUT];             \
            CPU_UNROLL for (int p = 0; p < POSITIONS; p++) tile[p] =                               \
                *(const Unaligned_##level *)(sums + p * step + f);                                 \
            CPU_UNROLL for (int i = 0; i < TILE; i++)                                              \
                leave_line_##level(tile + i, TILE, half + i, TILE);                                \
            CPU_UNROLL for (int i = 0; i < OUTPUT; i++)                                            \
                leave_line_##level(half + i * TILE, 1, out + i * OUTPUT, 1);                       \
            CPU_UNROLL for (int i = 0; i < OUTPUT * OUTPUT; i++) *                                 \
                (Unaligned_##level *)(to + i * CPU_MATMUL_PANEL + f) = out[i];                     \
        }                                                                                          \
    }                                                                                              \
    struct transforms_need_semicolon

DEFINE_TRANSFORMS(portable, , 4);
#if defined(__x86_64__)
DEFINE_TRANSFORMS(avx2, CPU_TARGET_AVX2, 8);
DEFINE_TRANSFORMS(avx512, CPU_TARGET_AVX512, 16);
#endif

static void choose_transforms(CpuWinograd *conv, CpuLevel level) {
    conv->enter = enter_portable;
    conv->leave = leave_portable;
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX2) conv->enter = enter_avx2, conv->leave = leave_avx2;
    if (level == CPU_LEVEL_AVX512) conv->enter = enter_avx512, conv->leave = leave_avx512;
#endif
    (void)level;
}

/* ---- the run ---- */

static int64_t parts_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

static int64_t units_of(const CpuWinograd *conv, int64_t tiles) {
    return parts_of(tiles, BLOCK) * parts_of(conv->filters, conv->filters_per_unit);
}

void cpu_winograd_prepare(CpuWinograd *conv, CpuLevel level) {
    conv->code = cpu_matmul_code_for(level);
    conv->epilogue_rows = cpu_epilogue_rows_for(level);
    choose_transforms(conv, level);
    conv->tile_rows = parts_of(conv->window.output[0], OUTPUT);
    conv->tile_columns = parts_of(conv->window.output[1], OUTPUT);
    conv->tiles = conv->images * conv->tile_rows * conv->tile_columns;
    conv->depth = conv->slices.kernel * conv->channels;
    conv->group = GROUP_FLOATS / (POSITIONS * conv->depth) / BLOCK * BLOCK;
    if (conv->group < BLOCK) conv->group = BLOCK;
    if (conv->group > conv->tiles) conv->group = conv->tiles;
    conv->filters_per_unit = CPU_MATMUL_PANEL;
    while (units_of(conv, conv->group) < UNITS_WANTED && conv->filters_per_unit > FILTERS_STEP &&
           conv->filters > conv->filters_per_unit / 2)
        conv->filters_per_unit /= 2;
}

/* Floats of the transformed tiles and of a pixel of zeros; each part's sums follow. */
static int64_t shared_count(const CpuWinograd *conv) {
    const int64_t count = POSITIONS * conv->group * conv->depth + conv->channels;
    return (count + 15) / 16 * 16;
}

int64_t cpu_winograd_scratch_count(const CpuDevice *device, const CpuWinograd *conv) {
    const uint64_t units = (uint64_t)units_of(conv, conv->group);
    return shared_count(conv) +
           (int64_t)cpu_part_count(device, device->threads_max, units, 1) * SUMS;
}

typedef struct Run {
    const CpuWinograd *conv;
    CpuConvLastBuffers buffers;
    float *zeros, *sums;
    int64_t first, count; /* the group */
} Run;

/* The place of a tile among all images: the image, and the first output. */
typedef struct Place {
    int64_t image, row, column;
} Place;

static Place place_of(const CpuWinograd *conv, int64_t tile) {
    const int64_t per_image = conv->tile_rows * conv->tile_columns, at = tile % per_image;
    return (Place){
        tile / per_image, at / conv->tile_columns * OUTPUT, at % conv->tile_columns * OUTPUT};
}

/* The tile's pixels in a slice of the input. */
static void enter_tile(const Run *run, const Place *place, int64_t slice, float *to) {
    const CpuWinograd *conv = run->conv;
    const int64_t height = conv->window.input[0], width = conv->window.input[1];
    const float *image = run->buffers.x + slice * height * width * conv->channels;
    const float *pixels[POSITIONS];
    for (int64_t p = 0; p < POSITIONS; p++) {
        const int64_t row = place->row - conv->window.pad_begin[0] + p / TILE;
        const int64_t column = place->column - conv->window.pad_begin[1] + p % TILE;
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        pixels[p] = inside ? image + (row * width + column) * conv->channels : run->zeros;
    }
    conv->enter(pixels, conv->channels, conv->group * conv->depth, to);
}

/* The transform of a slice beyond the volume. */
static void clear_tile(const CpuWinograd *conv, float *to) {
    for (int64_t p = 0; p < POSITIONS; p++)
        memset(to + p * conv->group * conv->depth, 0, (size_t)conv->channels * sizeof(float));
}

static Error *enter_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const CpuWinograd *conv = run->conv;
    for (uint64_t i = begin; i < end; i++) {
        const Place place = place_of(conv, run->first + (int64_t)i);
        const CpuSlicesInside slices = cpu_conv_slices_inside(&conv->slices, place.image);
        float *to = run->buffers.scratch + (int64_t)i * conv->depth;
        for (int64_t s = 0; s < conv->slices.kernel; s++, to += conv->channels) {
            if (s > 0 && kernel_stop_ends()) return NULL; /* the caller looks again */
            if (s >= slices.begin && s < slices.end)
                enter_tile(run, &place, slices.first + s * slices.step, to);
            else
                clear_tile(conv, to);
        }
    }
    return NULL;
}

/* The part of the depth in which tiles that follow each other have slices: [begin, end), with at
 * least one slice. */
static void find_depth(
    const Run *run, int64_t tile, int64_t count, int64_t *out_begin, int64_t *out_end) {
    const CpuWinograd *conv = run->conv;
    const int64_t first = place_of(conv, run->first + tile).image;
    const int64_t last = place_of(conv, run->first + tile + count - 1).image;
    int64_t begin = conv->slices.kernel, end = 0;
    for (int64_t image = first; image <= last; image++) {
        const CpuSlicesInside slices = cpu_conv_slices_inside(&conv->slices, image);
        if (slices.begin == slices.end) continue;
        if (slices.begin < begin) begin = slices.begin;
        if (slices.end > end) end = slices.end;
    }
    *out_begin = begin < end ? begin * conv->channels : 0;
    *out_end = begin < end ? end * conv->channels : conv->channels;
}

static void multiply(
    const Run *run, int64_t tile, int64_t count, int64_t filter, int64_t filters, float *sums) {
    const CpuWinograd *conv = run->conv;
    const int64_t all = conv->depth, column = filter % CPU_MATMUL_PANEL;
    const int64_t first = filter - column, left = conv->filters - first;
    const int64_t width = cpu_matmul_panel_width(left), depth = conv->code.depth;
    const CpuPanelSteps steps = cpu_matmul_panel_steps(&conv->code, all, width);
    const float *w =
        run->buffers.w + first * all * POSITIONS + cpu_matmul_panel_offset(steps, column);
    int64_t begin, end;
    find_depth(run, tile, count, &begin, &end);
    CpuMatmulTile product = {
        .rows = count,
        .columns = (filters + 15) / 16 * 16, /* whole vectors: panels are filled up */
        .a_row = all,
        .a_column = 1,
        .b_row = steps.row,
        .b_strip = steps.strip,
        .out_row = CPU_MATMUL_PANEL,
    };
    for (int64_t p = 0; p < POSITIONS; p++) {
        if (kernel_stop_ends()) return;
        const float *a = run->buffers.scratch + (p * conv->group + tile) * all;
        product.out = sums + p * BLOCK * CPU_MATMUL_PANEL;
        for (int64_t k = begin; k < end; k += depth) {
            product.depth = end - k < depth ? end - k : depth;
            product.a = a + k;
            const int64_t next =
                k + depth < end ? (k + depth) * steps.row : all * width + begin * steps.row;
            product.b = w + p * all * width + k * steps.row;
            product.b_next = w + p * all * width + next;
            product.accumulate = k > begin;
            conv->code.micro(&product);
        }
    }
}

static void finish_tile(
    const Run *run, int64_t tile, int64_t filter, int64_t filters, const float *outputs) {
    const CpuWinograd *conv = run->conv;
    const int64_t height = conv->window.output[0], width = conv->window.output[1];
    const Place place = place_of(conv, tile);
    const float *bias = conv->has_bias ? run->buffers.bias + filter : NULL;
    const int64_t left = width - place.column, columns = left < OUTPUT ? left : OUTPUT;
    for (int64_t i = 0; i < OUTPUT && place.row + i < height; i++) {
        const int64_t pixel = (place.image * height + place.row + i) * width + place.column;
        const int64_t at = pixel * conv->filters + filter;
        const CpuEpilogueRows rows = {
            .rows = columns,
            .count = filters,
            .sums = outputs + i * OUTPUT * CPU_MATMUL_PANEL,
            .sums_step = CPU_MATMUL_PANEL,
            .bias = bias,
            .residual = conv->has_residual ? run->buffers.residual + at : NULL,
            .to = run->buffers.y + at,
            .to_step = conv->filters,
        };
        conv->epilogue_rows(&conv->epilogue, &rows);
    }
}

/* A block of the group's tiles and a part of a panel of filters. */
static void run_block(const Run *run, int64_t tile, int64_t count, int64_t filter, float *sums) {
    const CpuWinograd *conv = run->conv;
    const int64_t left = conv->filters - filter;
    const int64_t filters = left < conv->filters_per_unit ? left : conv->filters_per_unit;
    float outputs[OUTPUT * OUTPUT * CPU_MATMUL_PANEL];
    multiply(run, tile, count, filter, filters, sums);
    for (int64_t i = 0; i < count; i++) {
        conv->leave(
            sums + i * CPU_MATMUL_PANEL, (int64_t)BLOCK * CPU_MATMUL_PANEL, filters, outputs);
        finish_tile(run, run->first + tile + i, filter, filters, outputs);
    }
}

/* All blocks have equal size, in whole steps of the inner kernel. */
static Error *run_blocks(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    Run *run = context;
    const int64_t size = parts_of(parts_of(run->count, parts_of(run->count, BLOCK)), 6) * 6;
    const int64_t blocks = parts_of(run->count, BLOCK);
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        TRY(kernel_stop_check());
        const int64_t tile = i % blocks * size, left = run->count - tile;
        if (left > 0)
            run_block(run, tile, left < size ? left : size,
                i / blocks * run->conv->filters_per_unit, run->sums + part * SUMS);
    }
    return NULL;
}

Error *cpu_winograd_run(CpuDevice *device, const CpuWinograd *planned,
    const CpuConvLastBuffers *buffers, const Launch *launch) {
    CpuWinograd joined = *planned;
    const CpuWinograd *conv = &joined;
    Run run = {.conv = conv, .buffers = *buffers};
    joined.filters_per_unit = cpu_conv_last_filters_per_unit(device, launch->threads,
        parts_of(planned->group, BLOCK), planned->filters, planned->filters_per_unit);
    run.zeros = buffers->scratch + POSITIONS * conv->group * conv->depth;
    run.sums = buffers->scratch + shared_count(conv);
    memset(run.zeros, 0, (size_t)conv->channels * sizeof(float));
    /* a thread is worth its start for about 20 µs of work; for less here, since the next phase
     * needs the thread anyway */
    const int64_t block_cost = (BLOCK + 8) * conv->filters_per_unit * POSITIONS * conv->depth;
    for (; run.first < conv->tiles; run.first += run.count) {
        const int64_t left = conv->tiles - run.first;
        run.count = left < conv->group ? left : conv->group;
        TRY(cpu_for_each(device, launch->threads, (uint64_t)run.count,
            (uint64_t)parts_of(1024, conv->depth), enter_tiles, &run));
        TRY(cpu_for_each(device, launch->threads, (uint64_t)units_of(conv, run.count),
            (uint64_t)(2000000 / block_cost) + 1, run_blocks, &run));
    }
    return NULL;
}
