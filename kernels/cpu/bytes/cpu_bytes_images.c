#include "kernels/cpu/bytes/cpu_bytes_images.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/checked.h"
#include "kernels/cpu/core/cpu_vector.h"

enum { HEIGHT = 0, WIDTH = 1, PIECE_BYTES = 1 << 16 };

void cpu_bytes_flatten(Window *window) {
    if (window->rank == 1) {
        *window = (Window){2, {1, window->kernel[0]}, {1, window->stride[0]},
            {1, window->dilation[0]}, {0, window->pad_begin[0]}, {0, window->pad_end[0]},
            {1, window->input[0]}, {1, window->output[0]}};
    }
    for (uint32_t d = 0; d < 2; d++)
        if (window->kernel[d] != 1 || window->stride[d] != 1 ||
            window->input[d] != window->output[d])
            return;
    window->input[WIDTH] *= window->input[HEIGHT];
    window->output[WIDTH] = window->input[WIDTH];
    window->input[HEIGHT] = window->output[HEIGHT] = 1;
}

static int64_t padded(const Window *window, uint32_t dimension) {
    const int64_t there = window->pad_begin[dimension] + window->input[dimension];
    const int64_t seen = window_reach(window, dimension, window->output[dimension]);
    return there > seen ? there : seen;
}

void cpu_bytes_images_of(const Window *window, int64_t spare_bytes, CpuBytesImages *images) {
    images->height = window->input[HEIGHT];
    images->width = window->input[WIDTH];
    images->pad_top = window->pad_begin[HEIGHT];
    images->pad_left = window->pad_begin[WIDTH];
    images->padded_height = padded(window, HEIGHT);
    images->padded_width = padded(window, WIDTH);
    images->piece = PIECE_BYTES / (images->channels + 1) + 1;
    images->in_place = images->form == CPU_LOWER_INT8_DOT && !images->is_signed &&
                       !images->are_planes && spare_bytes == 0 &&
                       images->padded_height == images->height &&
                       images->padded_width == images->width;
}

void cpu_bytes_images_extend(CpuBytesImages *images, int64_t height, int64_t width) {
    if (images->padded_height < height) images->padded_height = height;
    if (images->padded_width < width) images->padded_width = width;
}

Error *cpu_bytes_images_bytes(const CpuBytesImages *images, int64_t spare_bytes, uint64_t *out) {
    uint64_t bytes = (uint64_t)cpu_bytes_pixel(images);
    if (!checked_mul_u64(bytes, (uint64_t)images->padded_width, &bytes) ||
        !checked_mul_u64(bytes, (uint64_t)images->padded_height, &bytes) ||
        !checked_mul_u64(bytes, (uint64_t)images->images, &bytes) ||
        !checked_add_u64(bytes, (uint64_t)spare_bytes, &bytes) || bytes > INT64_MAX / 2)
        FAIL(INVALID, "an image of too many elements");
    *out = bytes;
    return NULL;
}

int32_t cpu_bytes_zero(const CpuBytesImages *images, int32_t zero_point) {
    if (images->form != CPU_LOWER_INT8_DOT) return 0;
    return images->is_signed ? zero_point + 128 : zero_point;
}

typedef struct Writing {
    const CpuBytesImages *images;
    const uint8_t *x;
    int32_t zero_point;
    char *to;
    int64_t pieces; /* of a row */
    void (*widen)(bool is_signed, const uint8_t *from, int64_t count, int32_t zero, int16_t *to);
} Writing;

CPU_INLINE void flip_body(const uint8_t *from, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i] ^ 0x80;
}
CPU_VARIANTS(flip, (const uint8_t *from, int64_t count, uint8_t *to), (from, count, to));

CPU_INLINE void widen_body(
    bool is_signed, const uint8_t *from, int64_t count, int32_t zero, int16_t *to) {
    const int16_t less = (int16_t)zero;
    if (is_signed)
        for (int64_t i = 0; i < count; i++) to[i] = (int16_t)((int8_t)from[i] - less);
    else
        for (int64_t i = 0; i < count; i++) to[i] = (int16_t)(from[i] - less);
}
CPU_VARIANTS(widen, (bool is_signed, const uint8_t *from, int64_t count, int32_t zero, int16_t *to),
    (is_signed, from, count, zero, to));

static void fill(const Writing *writing, char *to, int64_t pixels) {
    const int32_t zero = cpu_bytes_zero(writing->images, writing->zero_point);
    memset(to, zero, (size_t)(pixels * cpu_bytes_pixel(writing->images)));
}

/* Writes count elements that lie together. */
static void copy(const Writing *writing, const uint8_t *from, int64_t count, char *to) {
    const CpuBytesImages *images = writing->images;
    if (images->form != CPU_LOWER_INT8_DOT)
        writing->widen(images->is_signed, from, count, writing->zero_point, (int16_t *)(void *)to);
    else if (images->is_signed)
        flip_for(CPU_LEVEL_AVX512)(from, count, (uint8_t *)to);
    else
        memcpy(to, from, (size_t)count);
}

/* Writes pixels whose channels are planes apart, some channels of some pixels at a time. */
static void gather(
    const Writing *writing, const uint8_t *from, int64_t pixels, char *to, KernelStopMeter *meter) {
    enum { PIXELS = 64 };
    const CpuBytesImages *images = writing->images;
    const int64_t channels = images->channels, plane = images->height * images->width;
    const bool is_dot = images->form == CPU_LOWER_INT8_DOT;
    const uint8_t flip = images->is_signed ? 0x80 : 0;
    for (int64_t p = 0; p < pixels; p += PIXELS) {
        const int64_t count = pixels - p < PIXELS ? pixels - p : PIXELS;
        if (kernel_stop_ends_after(meter, (uint64_t)channels * PIXELS)) return;
        for (int64_t c = 0; c < channels; c++) {
            if (kernel_stop_ends_at(c)) return;
            const uint8_t *row = from + c * plane + p;
            if (is_dot) {
                uint8_t *out = (uint8_t *)to + p * channels + c;
                for (int64_t i = 0; i < count; i++) out[i * channels] = row[i] ^ flip;
            } else {
                int16_t *out = (int16_t *)(void *)to + p * channels + c, values[PIXELS];
                writing->widen(images->is_signed, row, count, writing->zero_point, values);
                for (int64_t i = 0; i < count; i++) out[i * channels] = values[i];
            }
        }
    }
}

static int64_t between(int64_t at, int64_t low, int64_t high) {
    return at < low ? low : at > high ? high : at;
}

/* Writes columns [begin, end) of a row of a padded image. */
static void write_piece(
    const Writing *writing, int64_t image, int64_t row, int64_t begin, int64_t end) {
    const CpuBytesImages *images = writing->images;
    const int64_t pixel = cpu_bytes_pixel(images), line = row - images->pad_top;
    const bool inside = line >= 0 && line < images->height;
    const int64_t left = images->pad_left, right = left + images->width;
    const int64_t from = inside ? between(left, begin, end) : end;
    const int64_t until = inside ? between(right, begin, end) : end;
    char *to = writing->to + (image * images->padded_height + row) * cpu_bytes_pitch(images);
    KernelStopMeter meter = {0};
    fill(writing, to + begin * pixel, from - begin);
    fill(writing, to + until * pixel, end - until);
    if (from >= until) return;
    if (images->are_planes) {
        const int64_t first = image * images->channels * images->height + line;
        gather(writing, writing->x + first * images->width + from - left, until - from,
            to + from * pixel, &meter);
    } else {
        const int64_t first = (image * images->height + line) * images->width + from - left;
        copy(writing, writing->x + first * images->channels, (until - from) * images->channels,
            to + from * pixel);
    }
}

static Error *write_pieces(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Writing *writing = context;
    const CpuBytesImages *images = writing->images;
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t row = unit / writing->pieces, first = unit % writing->pieces * images->piece;
        const int64_t left = images->padded_width - first;
        write_piece(writing, row / images->padded_height, row % images->padded_height, first,
            first + (left < images->piece ? left : images->piece));
    }
    return NULL;
}

Error *cpu_bytes_write_images(CpuDevice *device, uint32_t threads, const CpuBytesImages *images,
    const void *x, int32_t zero_point, void *to) {
    Writing writing = {images, x, zero_point, to,
        (images->padded_width + images->piece - 1) / images->piece, widen_for(device->level)};
    const int64_t row = images->piece < images->padded_width ? images->piece : images->padded_width;
    return cpu_for_each(device, threads,
        (uint64_t)(images->images * images->padded_height * writing.pieces),
        (uint64_t)(2 * PIECE_BYTES / (row * images->channels + 1)) + 1, write_pieces, &writing);
}

/* ---- the sums of windows ---- */

typedef uint32_t SumPiece(const int16_t *x, int64_t count);

CPU_INLINE void sum_windows(const CpuBytesWindows *windows, SumPiece *sum_piece, int32_t *out) {
    for (int64_t row = 0; row < windows->rows; row++)
        for (int64_t column = 0; column < windows->columns; column++) {
            const char *window = windows->first + row * windows->down + column * windows->right;
            uint32_t sum = 0;
            for (int64_t i = 0; i < windows->lines; i++)
                for (int64_t j = 0; j < windows->pieces; j++)
                    sum +=
                        sum_piece((const int16_t *)(const void *)(window + i * windows->line_step +
                                                                  j * windows->piece_step),
                            windows->piece);
            *out++ = (int32_t)sum;
        }
}

CPU_INLINE uint32_t sum_one_by_one(const int16_t *x, int64_t count) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const int32_t element = x[i];
        sum += (uint32_t)element;
    }
    return sum;
}

static void sum_portable(const CpuBytesWindows *windows, int32_t *out) {
    sum_windows(windows, sum_one_by_one, out);
}

#if defined(__x86_64__)
enum { LANES = 16 };

/* The rest of a piece is read by pairs, since nothing behind it may be counted. */
CPU_TARGET_AVX2 CPU_INLINE uint32_t sum_sixteens(const int16_t *x, int64_t count) {
    static const int32_t masks[LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sums = _mm256_setzero_si256();
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        sums = _mm256_add_epi32(sums,
            _mm256_madd_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(x + i)), ones));
    const int64_t pairs = (count - i) / 2;
    if (pairs > 0) {
        const __m256i mask =
            _mm256_loadu_si256((const __m256i *)(const void *)(masks + LANES / 2 - pairs));
        const __m256i rest = _mm256_maskload_epi32((const int *)(const void *)(x + i), mask);
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(rest, ones));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    const int32_t last = count % 2 != 0 ? x[count - 1] : 0;
    return (uint32_t)_mm_cvtsi128_si32(four) + (uint32_t)last;
}

CPU_TARGET_AVX2 static void sum_avx2(const CpuBytesWindows *windows, int32_t *out) {
    sum_windows(windows, sum_sixteens, out);
}
#endif

CpuBytesWindowsSum *cpu_bytes_windows_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level >= CPU_LEVEL_AVX2) return sum_avx2;
#endif
    (void)level;
    return sum_portable;
}

CPU_INLINE void subtract_body(const CpuBytesZeros *subtracted, int32_t *sums) {
    const int32_t *zeros = subtracted->zeros, *windows = subtracted->windows;
    for (int64_t i = 0; i < subtracted->count; i++, windows += subtracted->step) {
        uint32_t *row = (uint32_t *)sums + i * CPU_LOWER_COLUMNS;
        if (subtracted->each_filter)
            for (int64_t f = 0; f < subtracted->filters; f++)
                row[f] -= (uint32_t)zeros[f] * (uint32_t)windows[f];
        else
            for (int64_t f = 0; f < subtracted->filters; f++)
                row[f] -= (uint32_t)zeros[f] * (uint32_t)windows[0];
    }
}
CPU_VARIANTS(subtract, (const CpuBytesZeros *subtracted, int32_t *sums), (subtracted, sums));

CpuBytesZerosSubtract *cpu_bytes_zeros_for(CpuLevel level) { return subtract_for(level); }
