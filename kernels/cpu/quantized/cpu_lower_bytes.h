#pragma once
/* Operands that are bytes already, with zero points, for cpu_lower_product.h: rows as it takes
 * them, sums less the zero points of the weights, and sums as bytes again. The same bits at every
 * level. Called by the kernels of integer products on the threads of a launch. Pure: no state.
 *
 * Rows are read as uint8, weights as int8. A flip of the highest bit turns one into the other and
 * moves the zero point by 128:
 *   sum of (a - za) * (b - zb)  =  sum of (a - za) * b  -  zb * sum of (a - za) */
#include "kernels/cpu/quantized/cpu_requantize.h"
#include "kernels/cpu/quantized/cpu_lower_pack.h"

enum { CPU_LOWER_BIAS = 128 }; /* what a flip takes from a number without a sign */

/* The zero point of a flipped number. */
static inline int32_t cpu_lower_row_zero(bool is_signed, int32_t zero) {
    return is_signed ? zero + CPU_LOWER_BIAS : zero;
}
static inline int32_t cpu_lower_weight_zero(bool is_signed, int32_t zero) {
    return is_signed ? zero : zero - CPU_LOWER_BIAS;
}

typedef struct CpuLowerBytes {
    /* Writes a row of its form, with zeros to the end of the last group, and the sum of (element -
     * zero) modulo 2^32; either may be NULL. */
    void (*row)(const uint8_t *from, uint8_t flip, int32_t zero, int64_t depth, void *to,
        uint32_t *out_sum);
    /* sums[i] += bias[i] - zeros[i] * times, modulo 2^32; either may be NULL. */
    void (*adjust)(
        int32_t *sums, const int32_t *bias, const int32_t *zeros, uint32_t times, int64_t count);
    CpuRequantizeWide *requantize;
} CpuLowerBytes;

CpuLowerBytes cpu_lower_bytes_for(CpuLevel level, CpuLowerForm form);
