#include "kernels/cpu/bytes/cpu_bytes_winograd.h"

#include "base/checked.h"
#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    OUTPUT = CPU_BYTES_WINOGRAD_OUTPUT,
    TILE = CPU_BYTES_WINOGRAD_TILE,
    TILES = CPU_BYTES_WINOGRAD_TILES,
    POSITIONS = TILE * TILE,
    TAPS = 9,
    LANES = 16,         /* channels that are transformed at once */
    CHUNK = 128,        /* channels of transformed tiles that wait for their products */
    CHANNELS_MIN = 16,  /* with fewer, the transforms cost more than the products that they save */
    CHANNELS_END = 512, /* see takes */
    PANEL = CPU_LOWER_PANEL,
    ENTERED = POSITIONS * TILES * CHUNK,          /* int16 */
    SUMS = POSITIONS * TILES * CPU_LOWER_COLUMNS, /* int32 */
};

/* ---- weights ---- */

static bool are_one(const Attributes *attributes, const char *name) {
    uint32_t count;
    const int64_t *values = attributes_ints(attributes, name, &count);
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != 1) return false;
    return true;
}

bool cpu_bytes_winograd_takes(
    const CpuDevice *device, const Attributes *attributes, const CpuBytesFilters *filters) {
    if (filters->form != CPU_LOWER_INT8 || device->level == CPU_LEVEL_PORTABLE) return false;
    if (filters->groups != 1 || filters->height != 3 || filters->width != 3) return false;
    if (!are_one(attributes, "strides") || !are_one(attributes, "dilations")) return false;
    if (filters->channels < CHANNELS_MIN || filters->filters < CHANNELS_MIN) return false;
    if (filters->channels > CPU_BYTES_WINOGRAD_CHANNELS) return false;
    /* transformed weights have 3.6 times the bytes: for small images, reading them takes more time
     * than the saved products */
    return filters->channels < CHANNELS_END;
}

static int64_t even(int64_t channels) { return channels + channels % 2; }

/* Elements of a panel. */
static int64_t panel_count(const CpuBytesFilters *filters) {
    return POSITIONS * even(filters->channels) * PANEL;
}

Error *cpu_bytes_winograd_bytes(const CpuBytesFilters *filters, uint64_t *out) {
    if (!checked_mul_u64((uint64_t)panel_count(filters) * sizeof(int16_t),
            (uint64_t)cpu_lower_panels(filters->filters), out) ||
        *out > INT64_MAX)
        FAIL(INVALID, "filters of too many weights");
    return NULL;
}

const void *cpu_bytes_winograd_panel(
    const CpuBytesFilters *filters, const void *packed, int64_t panel) {
    return (const int16_t *)packed + panel * panel_count(filters);
}

static void pack_line(const int32_t *g, int step, int32_t *to, int to_step) {
    const int32_t a = g[0], b = g[step], c = g[2 * step];
    to[0] = 2 * a;
    to[to_step] = a + b + c;
    to[2 * to_step] = a - b + c;
    to[3 * to_step] = 2 * c;
}

/* Transforms a kernel to positions that are `step` apart. */
static void pack_kernel(const uint8_t *from, uint8_t flip, int64_t step, int16_t *to) {
    int32_t kernel[TAPS], half[TILE * 3], tile[POSITIONS];
    for (int i = 0; i < TAPS; i++) kernel[i] = (int8_t)(from[i] ^ flip);
    for (int j = 0; j < 3; j++) pack_line(kernel + j, 3, half + j, 3);
    for (int i = 0; i < TILE; i++) pack_line(half + i * 3, 1, tile + i * TILE, 1);
    for (int p = 0; p < POSITIONS; p++) to[p * step] = (int16_t)tile[p];
}

/* In order: panels of filters; in each the chunks of channels; in each the positions; for each a
 * panel of pairs [chunk / 2][filter][2]. */
void cpu_bytes_winograd_pack(const CpuBytesFilters *filters, const void *weights, void *to) {
    const uint8_t flip = filters->is_signed ? 0 : 0x80, *from = weights;
    const int64_t channels = filters->channels, count = panel_count(filters);
    int16_t *packed = to;
    KernelStopMeter meter = {0};
    memset(to, 0, (size_t)(cpu_lower_panels(filters->filters) * count) * sizeof(int16_t));
    for (int64_t f = 0; f < filters->filters; f++)
        for (int64_t c = 0; c < channels; c++) {
            if (kernel_stop_ends_after(&meter, 64)) return;
            const int64_t first = c / CHUNK * CHUNK, left = even(channels) - first;
            const int64_t step = (left < CHUNK ? left : CHUNK) * PANEL;
            int16_t *place = packed + f / PANEL * count + first * POSITIONS * PANEL;
            pack_kernel(from + (f * channels + c) * TAPS, flip, step,
                place + (c - first) / 2 * 2 * PANEL + f % PANEL * 2 + c % 2);
        }
}

/* ---- transforms of images ---- */

int64_t cpu_bytes_winograd_scratch_bytes(void) {
    return ENTERED * (int64_t)sizeof(int16_t) + SUMS * (int64_t)sizeof(int32_t);
}

static int16_t *entered_of(const CpuBytesWinograd *block) { return block->scratch; }

static int32_t *sums_of(const CpuBytesWinograd *block) {
    return (int32_t *)(void *)((char *)block->scratch + ENTERED * sizeof(int16_t));
}

typedef int16_t I16x16 __attribute__((vector_size(32)));
typedef int16_t I16x16Unaligned __attribute__((vector_size(32), aligned(2), may_alias));
typedef CpuI32x8 I32x8Unaligned __attribute__((aligned(4), may_alias));

CPU_INLINE void enter_line(const I16x16 *d, int step, I16x16 *to) {
    to[0] = d[0] - d[2 * step];
    to[step] = d[step] + d[2 * step];
    to[2 * step] = d[2 * step] - d[step];
    to[3 * step] = d[step] - d[3 * step];
}

/* Transforms a tile's pixels of `channels` channels, and of some behind them whose weights are 0.
 */
CPU_INLINE void enter_body(
    const char *pixels, int64_t pixel, int64_t pitch, int64_t channels, int16_t *to) {
    for (int64_t c = 0; c < channels; c += LANES) {
        I16x16 tile[POSITIONS], half[POSITIONS];
        const char *from = pixels + c * (int64_t)sizeof(int16_t);
        CPU_UNROLL for (int p = 0; p < POSITIONS; p++) tile[p] =
            *(const I16x16Unaligned *)(const void *)(from + p / TILE * pitch + p % TILE * pixel);
        CPU_UNROLL for (int i = 0; i < TILE; i++) enter_line(tile + i, TILE, half + i);
        CPU_UNROLL for (int i = 0; i < TILE; i++) enter_line(half + i * TILE, 1, tile + i * TILE);
        CPU_UNROLL for (int p = 0; p < POSITIONS; p++) *
            (I16x16Unaligned *)(to + p * TILES * CHUNK + c) = tile[p];
    }
}
CPU_VARIANTS(enter,
    (const char *pixels, int64_t pixel, int64_t pitch, int64_t channels, int16_t *to),
    (pixels, pixel, pitch, channels, to));

CPU_INLINE void leave_line(const CpuI32x8 *m, int step, CpuI32x8 *to, int to_step) {
    to[0] = m[0] + m[step] + m[2 * step];
    to[to_step] = m[step] - m[2 * step] - m[3 * step];
}

CPU_INLINE void leave_body(const int32_t *sums, int64_t filters, int64_t columns, int32_t *out) {
    enum { EIGHT = 8 };
    for (int64_t f = 0; f < filters; f += EIGHT) {
        CpuI32x8 tile[POSITIONS], half[OUTPUT * TILE], made[OUTPUT * OUTPUT];
        CPU_UNROLL for (int p = 0; p < POSITIONS; p++) tile[p] =
            *(const I32x8Unaligned *)(sums + p * TILES * CPU_LOWER_COLUMNS + f);
        CPU_UNROLL for (int i = 0; i < TILE; i++) leave_line(tile + i, TILE, half + i, TILE);
        CPU_UNROLL for (int i = 0; i < OUTPUT; i++)
            leave_line(half + i * TILE, 1, made + i * OUTPUT, 1);
        CPU_UNROLL for (int i = 0; i < OUTPUT * OUTPUT; i++) *
            (I32x8Unaligned *)(out + (i / OUTPUT * columns + i % OUTPUT) * CPU_LOWER_COLUMNS + f) =
            made[i] >> 2;
    }
}
CPU_VARIANTS(leave, (const int32_t *sums, int64_t filters, int64_t columns, int32_t *out),
    (sums, filters, columns, out));

void cpu_bytes_winograd_leave(
    const CpuBytesWinograd *block, int64_t tile, int64_t columns, int32_t *out) {
    leave_for(block->level)(
        sums_of(block) + tile * CPU_LOWER_COLUMNS, block->panels * PANEL, columns, out);
}

/* ---- products ---- */

/* out[rows][CPU_LOWER_COLUMNS] (+)= a[rows][CHUNK] times a panel of pairs. */
typedef struct Product {
    const int16_t *a, *b;
    int64_t pairs;
    bool accumulate;
    int32_t *out;
} Product;

#if defined(__x86_64__)
#define PRODUCT_ROWS(ROWS)                                                                         \
    CPU_TARGET_AVX2 static void product_##ROWS(const Product *product) {                           \
        const int16_t *a = product->a, *b = product->b;                                            \
        int32_t *out = product->out;                                                               \
        __m256i sums[ROWS][2];                                                                     \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < 2; v++)         \
            sums[r][v] =                                                                           \
                product->accumulate                                                                \
                    ? _mm256_loadu_si256(                                                          \
                          (const __m256i *)(const void *)(out + r * CPU_LOWER_COLUMNS + v * 8))    \
                    : _mm256_setzero_si256();                                                      \
        for (int64_t p = 0; p < product->pairs; p++, a += 2, b += 2 * PANEL) {                     \
            __m256i columns[2];                                                                    \
            CPU_UNROLL for (int v = 0; v < 2; v++) columns[v] =                                    \
                _mm256_loadu_si256((const __m256i *)(const void *)(b + v * 16));                   \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const __m256i pair = _mm256_set1_epi32(cpu_word_load(a + r * CHUNK));              \
                CPU_UNROLL for (int v = 0; v < 2; v++) sums[r][v] =                                \
                    _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(pair, columns[v]));             \
            }                                                                                      \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < 2; v++)         \
            _mm256_storeu_si256(                                                                   \
                (__m256i *)(void *)(out + r * CPU_LOWER_COLUMNS + v * 8), sums[r][v]);             \
    }                                                                                              \
    struct product_rows_need_semicolon

PRODUCT_ROWS(6);
PRODUCT_ROWS(5);
PRODUCT_ROWS(4);
PRODUCT_ROWS(3);
PRODUCT_ROWS(2);
PRODUCT_ROWS(1);

enum { ROWS_MAX = 6 };

static void product_rows(const Product *product, int64_t rows) {
    static void (*const kernels[ROWS_MAX + 1])(const Product *) = {
        NULL, product_1, product_2, product_3, product_4, product_5, product_6};
    kernels[rows](product);
}
#else
enum { ROWS_MAX = 1 };

static void product_rows(const Product *product, int64_t rows) {
    (void)rows;
    for (int c = 0; c < PANEL; c++) {
        uint32_t sum = product->accumulate ? (uint32_t)product->out[c] : 0;
        for (int64_t k = 0; k < 2 * product->pairs; k++)
            sum += (uint32_t)(product->a[k] * product->b[k / 2 * 2 * PANEL + 2 * c + k % 2]);
        product->out[c] = (int32_t)sum;
    }
}
#endif

/* The rows of a position's panel, in steps of about equal size. */
static void multiply_panel(
    const CpuBytesWinograd *block, int64_t position, int64_t panel, Product *product) {
    const int64_t steps = (block->tiles + ROWS_MAX - 1) / ROWS_MAX;
    const int16_t *a = entered_of(block) + position * TILES * CHUNK;
    int32_t *out = sums_of(block) + position * TILES * CPU_LOWER_COLUMNS + panel * PANEL;
    for (int64_t step = 0; step < steps; step++) {
        const int64_t row = block->tiles * step / steps;
        product->a = a + row * CHUNK;
        product->out = out + row * CPU_LOWER_COLUMNS;
        product_rows(product, block->tiles * (step + 1) / steps - row);
    }
}

static void multiply_chunk(const CpuBytesWinograd *block, int64_t first, int64_t channels) {
    Product product = {.pairs = channels / 2, .accumulate = first > 0};
    const int64_t panel_count = POSITIONS * even(block->channels) * PANEL;
    for (int64_t panel = 0; panel < block->panels; panel++) {
        if (kernel_stop_ends()) return;
        product.b =
            (const int16_t *)block->weights + panel * panel_count + first * POSITIONS * PANEL;
        for (int64_t p = 0; p < POSITIONS; p++, product.b += channels * PANEL)
            multiply_panel(block, p, panel, &product);
    }
}

void cpu_bytes_winograd_multiply(const CpuBytesWinograd *block) {
    const int64_t all = even(block->channels);
    for (int64_t first = 0; first < all; first += CHUNK) {
        if (kernel_stop_ends()) return;
        const int64_t channels = all - first < CHUNK ? all - first : CHUNK;
        for (int64_t t = 0; t < block->tiles; t++)
            enter_for(block->level)(block->pixels[t] + first * (int64_t)sizeof(int16_t),
                block->pixel, block->pitch, channels, entered_of(block) + t * CHUNK);
        multiply_chunk(block, first, channels);
    }
}
