#include "kernels/cpu/bytes/cpu_bytes_depthwise.h"

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

/* The weights' zero points, 0 where there are none. */
CPU_INLINE void read_zeros(const CpuBytesDepthwise *sum, int32_t *out) {
    for (int64_t c = 0; c < CPU_BYTES_CHANNELS; c++)
        out[c] = sum->zeros && c < sum->channels ? sum->zeros[c] : 0;
}

/* Sums the channels from `first` on. */
CPU_INLINE void sum_body(const CpuBytesDepthwise *sum, int64_t first) {
    int32_t zeros[CPU_BYTES_CHANNELS];
    read_zeros(sum, zeros);
    for (int64_t pixel = 0; pixel < sum->pixels; pixel++) {
        uint32_t sums[CPU_BYTES_CHANNELS] = {0};
        for (int64_t tap = 0; tap < sum->taps; tap++) {
            if (kernel_stop_ends_at(tap)) return;
            const char *at = sum->x + pixel * sum->pixel + sum->offsets[tap];
            const int16_t *x = (const int16_t *)(const void *)at;
            const int16_t *w = (const int16_t *)sum->weights + tap * CPU_BYTES_CHANNELS;
            if (first == 0 && sum->channels == CPU_BYTES_CHANNELS)
                for (int64_t c = 0; c < CPU_BYTES_CHANNELS; c++)
                    sums[c] += (uint32_t)(x[c] * (w[c] - zeros[c]));
            else
                for (int64_t c = first; c < sum->channels; c++)
                    sums[c] += (uint32_t)(x[c] * (w[c] - zeros[c]));
        }
        memcpy(sum->out + pixel * CPU_BYTES_CHANNELS + first, sums + first,
            (size_t)(sum->channels - first) * sizeof *sums);
    }
}
static void sum_portable(const CpuBytesDepthwise *sum) { sum_body(sum, 0); }

/* ---- AVX2 ---- */

#if defined(__x86_64__)
CPU_TARGET_AVX2 static void sum_from(const CpuBytesDepthwise *sum, int64_t first) {
    sum_body(sum, first);
}

/* Two taps of a channel are a pair of VPMADDWD. Weights of sixteen channels interleaved as their
 * elements are: channels 0 to 3 and 8 to 11, then the others. */
enum { PAIRS_MOST = 32, PAIR_VECTORS = 2 * VECTORS };

typedef struct Pairs {
    int64_t count;
    __m256i weights[PAIRS_MOST][PAIR_VECTORS];
} Pairs;

/* Weights of a tap less their zero points. */
CPU_TARGET_AVX2 CPU_INLINE __m256i weights_of(const CpuBytesDepthwise *sum, int64_t tap, int v) {
    const int16_t *weights = (const int16_t *)sum->weights + tap * CPU_BYTES_CHANNELS + v * LANES;
    if (tap >= sum->taps) return _mm256_setzero_si256();
    const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)weights);
    const int64_t left = sum->channels - v * LANES;
    if (!sum->zeros || left <= 0) return w;
    int16_t zeros[LANES] = {0};
    for (int64_t c = 0; c < LANES && c < left; c++) zeros[c] = (int16_t)sum->zeros[v * LANES + c];
    return _mm256_sub_epi16(w, _mm256_loadu_si256((const __m256i *)(const void *)zeros));
}

CPU_TARGET_AVX2 static void interleave(const CpuBytesDepthwise *sum, Pairs *out) {
    out->count = (sum->taps + 1) / 2;
    for (int64_t p = 0; p < out->count; p++)
        for (int v = 0; v < VECTORS; v++) {
            const __m256i first = weights_of(sum, 2 * p, v), second = weights_of(sum, 2 * p + 1, v);
            out->weights[p][2 * v] = _mm256_unpacklo_epi16(first, second);
            out->weights[p][2 * v + 1] = _mm256_unpackhi_epi16(first, second);
        }
}

/* Sums `count` vectors of sixteen channels from vector `from` on; `there`: the 32-bit lanes that
 * are read. */
CPU_TARGET_AVX2 CPU_INLINE void sum_vectors(const CpuBytesDepthwise *sum, const Pairs *pairs,
    int from, int count, bool is_part, __m256i there) {
    for (int64_t pixel = 0; pixel < sum->pixels; pixel++) {
        const char *x = sum->x + pixel * sum->pixel + from * LANES * (int)sizeof(int16_t);
        int32_t *out = sum->out + pixel * CPU_BYTES_CHANNELS + from * LANES;
        __m256i sums[PAIR_VECTORS];
        CPU_UNROLL for (int v = 0; v < 2 * count; v++) sums[v] = _mm256_setzero_si256();
        for (int64_t p = 0; p < pairs->count; p++) {
            const char *first = x + sum->offsets[2 * p], *second = x + sum->offsets[2 * p + 1];
            const __m256i *w = pairs->weights[p] + 2 * from;
            CPU_UNROLL for (int v = 0; v < count; v++) {
                const int *a = (const int *)(const void *)(first + v * 2 * LANES);
                const int *b = (const int *)(const void *)(second + v * 2 * LANES);
                const __m256i one = is_part ? _mm256_maskload_epi32(a, there)
                                            : _mm256_loadu_si256((const __m256i *)(const void *)a);
                const __m256i other = is_part
                                          ? _mm256_maskload_epi32(b, there)
                                          : _mm256_loadu_si256((const __m256i *)(const void *)b);
                sums[2 * v] = _mm256_add_epi32(
                    sums[2 * v], _mm256_madd_epi16(_mm256_unpacklo_epi16(one, other), w[2 * v]));
                sums[2 * v + 1] = _mm256_add_epi32(sums[2 * v + 1],
                    _mm256_madd_epi16(_mm256_unpackhi_epi16(one, other), w[2 * v + 1]));
            }
        }
        CPU_UNROLL for (int v = 0; v < count; v++) {
            __m256i *to = (__m256i *)(void *)(out + v * LANES);
            const __m256i low = sums[2 * v], high = sums[2 * v + 1];
            _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
            _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
        }
    }
}

CPU_TARGET_AVX2 static void sum_pairs(const CpuBytesDepthwise *sum) {
    const __m256i none = _mm256_setzero_si256();
    const int whole = (int)(sum->channels / LANES), rest = (int)(sum->channels % LANES);
    Pairs pairs;
    if (sum->taps > 2 * PAIRS_MOST) {
        sum_from(sum, 0);
        return;
    }
    interleave(sum, &pairs);
    if (whole == VECTORS) {
        sum_vectors(sum, &pairs, 0, VECTORS, false, none);
        return;
    }
    for (int v = 0; v < whole; v++) sum_vectors(sum, &pairs, v, 1, false, none);
    if (rest >= 2)
        sum_vectors(sum, &pairs, whole, 1, true,
            _mm256_cmpgt_epi32(
                _mm256_set1_epi32(rest / 2), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    if (rest % 2 != 0) sum_from(sum, sum->channels - 1);
}
#endif

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
#if defined(__x86_64__)
    if (level >= CPU_LEVEL_AVX2) return sum_pairs;
#endif
    (void)level;
    return sum_portable;
}
