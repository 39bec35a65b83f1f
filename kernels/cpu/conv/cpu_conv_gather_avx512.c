/* Masked loads read no element outside the row. */
#include <immintrin.h>

#include "kernels/cpu/conv/cpu_conv_gather.h"

/* A mask of 32 bits with ones at first … end - 1. */
static uint32_t ones(int64_t first, int64_t end) {
    if (first < 0) first = 0;
    if (end > 32) end = 32;
    if (first >= end) return 0;
    return (uint32_t)((((uint64_t)1 << (end - first)) - 1) << first);
}

/* 16 columns from `column` on, computed from the row's elements first … last of `from`. */
typedef struct Lanes {
    const float *from;
    float *to;
    __mmask16 write, read; /* write: the columns to fill; read: those of them inside the row */
    uint32_t span;         /* stride 2: elements inside the row, of 32 */
} Lanes;

static void copy_stride_1(const CpuGather *gather, Lanes lanes) {
    for (int64_t c = 0; c < gather->channels; c++) {
        _mm512_mask_storeu_ps(lanes.to, lanes.write, _mm512_maskz_loadu_ps(lanes.read, lanes.from));
        lanes.from += gather->channel_step;
        lanes.to += gather->to_step;
    }
}

static void copy_stride_2(const CpuGather *gather, Lanes lanes) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __mmask16 low = (__mmask16)lanes.span, high = (__mmask16)(lanes.span >> 16);
    for (int64_t c = 0; c < gather->channels; c++) {
        const __m512 a = _mm512_maskz_loadu_ps(low, lanes.from);
        const __m512 b = _mm512_maskz_loadu_ps(high, lanes.from + 16);
        _mm512_mask_storeu_ps(lanes.to, lanes.write, _mm512_permutex2var_ps(a, even, b));
        lanes.from += gather->channel_step;
        lanes.to += gather->to_step;
    }
}

static void copy_any_stride(const CpuGather *gather, Lanes lanes) {
    const __m512i index =
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            _mm512_set1_epi32((int)gather->stride));
    for (int64_t c = 0; c < gather->channels; c++) {
        const __m512 a =
            _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes.read, index, lanes.from, 4);
        _mm512_mask_storeu_ps(lanes.to, lanes.write, a);
        lanes.from += gather->channel_step;
        lanes.to += gather->to_step;
    }
}

static void zero(const CpuGather *gather, Lanes lanes) {
    for (int64_t c = 0; c < gather->channels; c++) {
        _mm512_mask_storeu_ps(lanes.to, lanes.write, _mm512_setzero_ps());
        lanes.to += gather->to_step;
    }
}

/* The number of columns from `column` on whose element lies before `end`. */
static int64_t columns_below(const CpuGather *gather, int64_t start, int64_t end) {
    return start >= end ? 0 : (end - start + gather->stride - 1) / gather->stride;
}

void cpu_conv_gather_avx512(const CpuGather *gather) {
    for (int64_t column = 0; column < gather->count; column += 16) {
        const int64_t start = gather->start + column * gather->stride;
        Lanes lanes = {
            .to = gather->to + column,
            .write = (__mmask16)ones(0, gather->count - column),
        };
        const int64_t first = columns_below(gather, start, 0);
        const int64_t end = columns_below(gather, start, gather->size);
        lanes.read = (__mmask16)(ones(first, end) & lanes.write);
        if (!gather->from || !lanes.read) {
            zero(gather, lanes);
            continue;
        }
        /* may point before the row: lanes there are masked */
        lanes.from = (const float *)((uintptr_t)gather->from + (uintptr_t)(start * 4));
        if (gather->stride == 1) {
            copy_stride_1(gather, lanes);
        } else if (gather->stride == 2) {
            const int64_t last = end < gather->count - column ? end : gather->count - column;
            lanes.span = ones(2 * first, last > 16 ? 31 : 2 * last - 1);
            copy_stride_2(gather, lanes);
        } else {
            copy_any_stride(gather, lanes);
        }
    }
}
