#include "kernels/cpu/quantized/cpu_lower_bytes.h"

#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"

CPU_INLINE uint32_t sum_of(const uint8_t *from, uint8_t flip, int64_t count) {
    uint32_t sum = 0;
    KERNEL_STOP_EACH (k, 0, count) sum += (uint8_t)(from[k] ^ flip);
    return sum;
}

CPU_INLINE void quads_body(
    const uint8_t *from, uint8_t flip, int32_t zero, int64_t depth, void *out, uint32_t *out_sum) {
    uint8_t *to = out;
    if (to) {
        KERNEL_STOP_EACH (k, 0, depth) to[k] = from[k] ^ flip;
        for (int64_t k = depth; k % 4 != 0; k++) to[k] = 0;
    }
    if (out_sum) *out_sum = sum_of(from, flip, depth) - (uint32_t)zero * (uint32_t)depth;
}
CPU_VARIANTS(quads,
    (const uint8_t *from, uint8_t flip, int32_t zero, int64_t depth, void *to, uint32_t *out_sum),
    (from, flip, zero, depth, to, out_sum));

CPU_INLINE void pairs_body(
    const uint8_t *from, uint8_t flip, int32_t zero, int64_t depth, void *out, uint32_t *out_sum) {
    int16_t *to = out;
    if (to) {
        KERNEL_STOP_EACH (k, 0, depth) to[k] = (int16_t)((uint8_t)(from[k] ^ flip) - zero);
        if (depth % 2) to[depth] = 0;
    }
    if (out_sum) *out_sum = sum_of(from, flip, depth) - (uint32_t)zero * (uint32_t)depth;
}
CPU_VARIANTS(pairs,
    (const uint8_t *from, uint8_t flip, int32_t zero, int64_t depth, void *to, uint32_t *out_sum),
    (from, flip, zero, depth, to, out_sum));

CPU_INLINE void adjust_body(
    int32_t *sums, const int32_t *bias, const int32_t *zeros, uint32_t times, int64_t count) {
    for (int64_t i = 0; bias && i < count; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)bias[i]);
    for (int64_t i = 0; zeros && i < count; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] - (uint32_t)zeros[i] * times);
}
CPU_VARIANTS(adjust,
    (int32_t * sums, const int32_t *bias, const int32_t *zeros, uint32_t times, int64_t count),
    (sums, bias, zeros, times, count));

CpuLowerBytes cpu_lower_bytes_for(CpuLevel level, CpuLowerForm form) {
    return (CpuLowerBytes){
        .row = form == CPU_LOWER_INT8_DOT ? quads_for(level) : pairs_for(level),
        .adjust = adjust_for(level),
        .requantize = cpu_requantize_wide_for(level),
    };
}
