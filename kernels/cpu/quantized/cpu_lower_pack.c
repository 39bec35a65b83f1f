#include "kernels/cpu/quantized/cpu_lower_pack.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/checked.h"

Error *cpu_lower_packed_bytes(CpuLowerForm form, int64_t depth, int64_t columns, uint64_t *out) {
    const uint64_t groups = (uint64_t)cpu_lower_groups(form, depth);
    uint64_t bytes;
    if (!checked_mul_u64(groups, (uint64_t)cpu_lower_group_bytes(form), &bytes) ||
        !checked_add_u64(bytes, cpu_lower_forms[form].head, &bytes) ||
        !checked_mul_u64(bytes, (uint64_t)cpu_lower_panels(columns), &bytes))
        FAIL(INVALID, "the weights are too large");
    *out = bytes;
    return NULL;
}

/* Rows [k, depth) of `count` columns from b on, by pairs; zeros follow the last row and column. */
#define DEFINE_PACK(name, T)                                                                       \
    static void name(                                                                              \
        const T *b, T flip, int64_t k, int64_t depth, int64_t columns, int64_t count, T *to) {     \
        for (; k < depth; k += 2, to += 2 * CPU_LOWER_PANEL) {                                     \
            if (kernel_stop_ends_at(k + 1)) return;                                                \
            for (int64_t i = 0; i < 2; i++) {                                                      \
                const T *row = b + (k + i) * columns;                                              \
                const int64_t there = k + i < depth ? count : 0;                                   \
                for (int64_t c = 0; c < CPU_LOWER_PANEL; c++)                                      \
                    to[2 * c + i] = c < there ? (T)(row[c] ^ flip) : 0;                            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    struct pack_needs_semicolon

DEFINE_PACK(pack_pairs_of_two_bytes, uint16_t);
DEFINE_PACK(pack_pairs_of_bytes, uint8_t);

/* Whole pairs of rows of a whole panel; the result is how many rows they are. */
static int64_t pack_whole_pairs(
    const uint8_t *b, uint8_t flip, int64_t depth, int64_t columns, uint8_t *to) {
    int64_t k = 0;
#if defined(__x86_64__)
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; k + 2 <= depth; k += 2, to += 2 * CPU_LOWER_PANEL) {
        if (kernel_stop_ends_at(k + 1)) break;
        const void *row = b + k * columns, *next = b + (k + 1) * columns;
        const __m128i first = _mm_xor_si128(_mm_loadu_si128(row), flips);
        const __m128i second = _mm_xor_si128(_mm_loadu_si128(next), flips);
        _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi8(first, second));
        _mm_storeu_si128((__m128i *)(void *)(to + 16), _mm_unpackhi_epi8(first, second));
    }
#else
    (void)b, (void)flip, (void)depth, (void)columns, (void)to;
#endif
    return k;
}

static void pack_int8(
    const uint8_t *b, uint8_t flip, int64_t depth, int64_t columns, int64_t count, uint8_t *to) {
    int64_t k = 0;
    if (count == CPU_LOWER_PANEL) k = pack_whole_pairs(b, flip, depth, columns, to);
    pack_pairs_of_bytes(b, flip, k, depth, columns, count, to + k * CPU_LOWER_PANEL);
}

void cpu_lower_pack(CpuLowerForm form, const void *b, uint8_t flip, int64_t depth, int64_t columns,
    int64_t begin, int64_t end, void *packed) {
    static const uint16_t nothing = 0; /* stands for a matrix without rows, which has no address */
    KernelStopMeter meter = {0};
    if (!b) b = &nothing;
    for (int64_t panel = begin; panel < end; panel++) {
        if (kernel_stop_ends_after(&meter, 32 * (uint64_t)depth)) return;
        const int64_t first = panel * CPU_LOWER_PANEL, left = columns - first;
        const int64_t count = left < CPU_LOWER_PANEL ? left : CPU_LOWER_PANEL;
        char *to = (char *)packed + panel * cpu_lower_panel_bytes(form, depth);
        const uint8_t *bytes = (const uint8_t *)b + first;
        if (!cpu_lower_forms[form].is_int8)
            pack_pairs_of_two_bytes(
                (const uint16_t *)b + first, 0, 0, depth, columns, count, (uint16_t *)(void *)to);
#if defined(__x86_64__)
        else if (form == CPU_LOWER_INT8_DOT)
            cpu_lower_pack_quads_dot(bytes, flip, depth, columns, count, to);
#endif
        else
            pack_int8(bytes, flip, depth, columns, count, (uint8_t *)to);
    }
}
