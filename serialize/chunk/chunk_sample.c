#include "serialize/chunk/chunk_sample.h"

#include <string.h>

/* log2(value) in 1/65536. Exact at powers of two, and off by at most 0.008 between them. */
static uint32_t log2_fixed(uint32_t value) {
    uint32_t whole = 31 - (uint32_t)__builtin_clz(value);
    uint64_t fraction = ((uint64_t)value << (31 - whole) & 0x7fffffff) >> 15;
    /* log2(1 + x) = x + 0.3466 x (1 - x), nearly */
    uint64_t bulge = (fraction * (65536 - fraction) >> 16) * 22713 >> 16;
    return whole << 16 | (uint32_t)(fraction + bulge);
}

/* The part of 8 bits that an ideal order-0 coder needs per byte. */
static uint32_t histogram_entropy(const uint32_t histogram[256], uint32_t count) {
    uint64_t bits = (uint64_t)count * log2_fixed(count);
    for (int i = 0; i < 256; i++)
        if (histogram[i] > 1) bits -= (uint64_t)histogram[i] * log2_fixed(histogram[i]);
    return (uint32_t)(bits / count / 8);
}

static inline __attribute__((always_inline)) uint64_t load_element(
    const uint8_t *from, uint32_t width) {
    uint64_t element = 0;
    memcpy(&element, from, width);
    return element;
}

static inline __attribute__((always_inline)) uint32_t count_repeats_of(
    const uint8_t *elements, size_t count, uint32_t width) {
    uint64_t previous = 0;
    uint32_t repeats = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t element = load_element(elements + i * width, width);
        repeats += element == 0 || element == previous;
        previous = element;
    }
    return repeats;
}

/* For each width apart, so that copying an element is one instruction, which saves 3 % of
 * encoding. */
static uint32_t count_repeats(const uint8_t *elements, size_t count, uint32_t width) {
    if (width == 1) return count_repeats_of(elements, count, 1);
    if (width == 2) return count_repeats_of(elements, count, 2);
    if (width == 4) return count_repeats_of(elements, count, 4);
    return count_repeats_of(elements, count, 8);
}

void chunk_sample_take(ChunkFilter filter, const uint8_t *raw, size_t count, ChunkSample *out) {
    enum { STRIPES = CHUNK_SAMPLE_STRIPES, STRIPE = CHUNK_SAMPLE_STRIPE_ELEMENTS };
    uint32_t histograms[BYTE_PLANES_MAX][256] = {{0}};
    uint8_t planes[BYTE_PLANES_MAX][STRIPE];
    uint8_t *plane_pointers[BYTE_PLANES_MAX];
    for (int p = 0; p < BYTE_PLANES_MAX; p++) plane_pointers[p] = planes[p];
    uint32_t width = byte_planes_count(filter);
    size_t stripe = count < STRIPES * STRIPE ? (count + STRIPES - 1) / STRIPES : STRIPE;
    *out = (ChunkSample){0};
    for (size_t s = 0; s < STRIPES; s++) {
        /* stripes are spread evenly; in a short chunk they follow each other and the last one may
         * be cut */
        size_t first = count < STRIPES * STRIPE ? s * stripe : s * (count - stripe) / (STRIPES - 1);
        if (first >= count) break;
        size_t taken = stripe < count - first ? stripe : count - first;
        const uint8_t *elements = raw + first * width;
        if (width == 1)
            memcpy(planes[0], elements, taken);
        else
            byte_planes_split(filter, elements, taken, plane_pointers);
        for (uint32_t p = 0; p < width; p++)
            for (size_t i = 0; i < taken; i++) histograms[p][planes[p][i]]++;
        out->repeat_count += count_repeats(elements, taken, width);
        out->element_count += (uint32_t)taken;
    }
    for (uint32_t p = 0; p < width; p++)
        out->plane_entropy[p] = histogram_entropy(histograms[p], out->element_count);
}
