#include "kernels/cpu/quantized/cpu_bytes_depthwise.h"

#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { QUAD = 4, LANES = 16, VECTORS = CPU_BYTES_CHANNELS / LANES, VECTOR_BYTES = 64 };

static int64_t quads_of(int64_t taps) { return (taps + QUAD - 1) / QUAD; }

int64_t cpu_bytes_depthwise_block_bytes(CpuLowerForm form, int64_t taps) {
    if (form == CPU_LOWER_INT8_DOT) return (1 + quads_of(taps)) * VECTORS * VECTOR_BYTES;
    return taps * CPU_BYTES_CHANNELS * (int64_t)sizeof(int16_t);
}

void cpu_bytes_depthwise_pack(
    const CpuBytesDepthwiseWeights *weights, int64_t block, void *to, KernelStopMeter *meter) {
    const int64_t taps = weights->taps, first = block * CPU_BYTES_CHANNELS;
    const bool is_dot = weights->form == CPU_LOWER_INT8_DOT;
    const uint8_t flip = weights->is_signed ? 0 : 0x80, *values = weights->values;
    memset(to, 0, (size_t)cpu_bytes_depthwise_block_bytes(weights->form, taps));
    for (int64_t c = 0; c < CPU_BYTES_CHANNELS && first + c < weights->channels; c++) {
        const int64_t lane = c / 16 * 4 + c % 4, vector = c / 4 % 4;
        uint32_t sum = 0;
        if (kernel_stop_ends_after(meter, 4 * (uint64_t)taps)) return;
        for (int64_t tap = 0; tap < taps; tap++) {
            if (kernel_stop_ends_at(tap)) return;
            const int32_t weight = values ? (int8_t)(values[(first + c) * taps + tap] ^ flip) : 1;
            sum += (uint32_t)weight;
            if (is_dot)
                ((int8_t *)to)[((1 + tap / QUAD) * VECTORS + vector) * VECTOR_BYTES + lane * QUAD +
                               tap % QUAD] = (int8_t)weight;
            else
                ((int16_t *)to)[tap * CPU_BYTES_CHANNELS + c] = (int16_t)weight;
        }
        if (is_dot) ((uint32_t *)to)[vector * LANES + lane] = sum;
    }
}

/* ---- any machine ---- */

CPU_INLINE void sum_body(const CpuBytesDepthwise *sum) {
    for (int64_t pixel = 0; pixel < sum->pixels; pixel++) {
        int32_t sums[CPU_BYTES_CHANNELS] = {0};
        for (int64_t tap = 0; tap < sum->taps; tap++) {
            if (kernel_stop_ends_at(tap)) return;
            const char *at = sum->x + pixel * sum->pixel + sum->offsets[tap];
            const int16_t *x = (const int16_t *)(const void *)at;
            const int16_t *w = (const int16_t *)sum->weights + tap * CPU_BYTES_CHANNELS;
            if (sum->channels == CPU_BYTES_CHANNELS)
                for (int64_t c = 0; c < CPU_BYTES_CHANNELS; c++)
                    sums[c] = (int32_t)((uint32_t)sums[c] + (uint32_t)(x[c] * w[c]));
            else
                for (int64_t c = 0; c < sum->channels; c++)
                    sums[c] = (int32_t)((uint32_t)sums[c] + (uint32_t)(x[c] * w[c]));
        }
        memcpy(sum->out + pixel * CPU_BYTES_CHANNELS, sums, sizeof sums);
    }
}

CPU_VARIANTS(sum, (const CpuBytesDepthwise *sum), (sum));

/* ---- AVX512_VNNI ---- */

#if defined(__x86_64__)
#define TARGET_DOT                                                                                 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")))

/* Brings four vectors whose 128-bit lanes are those of a transposed matrix into order. */
TARGET_DOT CPU_INLINE void store_in_order(int32_t *to, const __m512i *v) {
    const __m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    const __m512i c = _mm512_shuffle_i32x4(v[0], v[1], 0xEE);
    const __m512i d = _mm512_shuffle_i32x4(v[2], v[3], 0xEE);
    _mm512_storeu_si512(to, _mm512_shuffle_i32x4(a, b, 0x88));
    _mm512_storeu_si512(to + LANES, _mm512_shuffle_i32x4(a, b, 0xDD));
    _mm512_storeu_si512(to + 2 * LANES, _mm512_shuffle_i32x4(c, d, 0x88));
    _mm512_storeu_si512(to + 3 * LANES, _mm512_shuffle_i32x4(c, d, 0xDD));
}

TARGET_DOT static void sum_dot(const CpuBytesDepthwise *sum) {
    const int64_t quads = quads_of(sum->taps);
    const __mmask64 there = (__mmask64)(~0ull >> (CPU_BYTES_CHANNELS - sum->channels));
    const char *heads = sum->weights, *weights = heads + VECTORS * VECTOR_BYTES;
    __m512i starts[VECTORS];
    CPU_UNROLL for (int v = 0; v < VECTORS; v++) starts[v] = _mm512_sub_epi32(
        _mm512_setzero_si512(), _mm512_mullo_epi32(_mm512_loadu_si512(heads + v * VECTOR_BYTES),
                                    _mm512_set1_epi32(sum->zero)));
    for (int64_t pixel = 0; pixel < sum->pixels; pixel++) {
        const char *x = sum->x + pixel * sum->pixel, *w = weights;
        __m512i sums[VECTORS];
        CPU_UNROLL for (int v = 0; v < VECTORS; v++) sums[v] = starts[v];
        for (int64_t q = 0; q < quads; q++, w += VECTORS * VECTOR_BYTES) {
            if (kernel_stop_ends_at(q)) return;
            __m512i taps[QUAD];
            CPU_UNROLL for (int i = 0; i < QUAD; i++) taps[i] =
                _mm512_maskz_loadu_epi8(there, x + sum->offsets[q * QUAD + i]);
            const __m512i low01 = _mm512_unpacklo_epi8(taps[0], taps[1]);
            const __m512i high01 = _mm512_unpackhi_epi8(taps[0], taps[1]);
            const __m512i low23 = _mm512_unpacklo_epi8(taps[2], taps[3]);
            const __m512i high23 = _mm512_unpackhi_epi8(taps[2], taps[3]);
            const __m512i quad[VECTORS] = {_mm512_unpacklo_epi16(low01, low23),
                _mm512_unpackhi_epi16(low01, low23), _mm512_unpacklo_epi16(high01, high23),
                _mm512_unpackhi_epi16(high01, high23)};
            CPU_UNROLL for (int v = 0; v < VECTORS; v++) sums[v] =
                _mm512_dpbusd_epi32(sums[v], quad[v], _mm512_loadu_si512(w + v * VECTOR_BYTES));
        }
        store_in_order(sum->out + pixel * CPU_BYTES_CHANNELS, sums);
    }
}
#endif

CpuBytesDepthwiseSum *cpu_bytes_depthwise_for(CpuLevel level, CpuLowerForm form) {
#if defined(__x86_64__)
    if (form == CPU_LOWER_INT8_DOT) return sum_dot;
#endif
    (void)form;
    return sum_for(level);
}
