#pragma once
/* Sums of products of bytes as bytes again, a row at a time; the same bits at every level. Called
 * by the kernels of cpu/quantized/ on the threads of a launch. Pure: no state.
 *
 * Halves are rounded to even, and NaN becomes the zero point. */
#include "kernels/cpu/core/cpu_internal.h"

typedef struct CpuRequantizeTo {
    bool is_signed;
    int32_t zero_point;
} CpuRequantizeTo;

/* The factor from a sum to the bytes of an output, fit for cpu_requantize_for: what is not finite
 * is replaced by a number with the same results. */
float cpu_requantize_factor(float x_scale, float w_scale, float y_scale);
/* The definition of QLinearConv: out = clamp(round(float32(sum + bias) * factor) + zero point), the
 * sum modulo 2^32 and each step rounded to float32. bias, factors: one for each sum. */
typedef void CpuRequantizeSums(const CpuRequantizeTo *to, const int32_t *sums, const int32_t *bias,
    const float *factors, int64_t count, uint8_t *out);
CpuRequantizeSums *cpu_requantize_for(CpuLevel level);

/* The same for `rows` rows of `count` sums, which have the biases and factors in common. Steps from
 * row to row in elements. */
typedef struct CpuRequantizeRows {
    CpuRequantizeTo to;
    int64_t rows, count;
    const int32_t *sums;
    int64_t sums_step;
    const int32_t *bias;
    const float *factors;
    uint8_t *out;
    int64_t out_step;
} CpuRequantizeRows;

typedef void CpuRequantizeRowsRun(const CpuRequantizeRows *rows);
CpuRequantizeRowsRun *cpu_requantize_rows_for(CpuLevel level);

/* The definition of QLinearMatMul: clamp(round(sum * factor) + zero point), the product in float64.
 */
typedef void CpuRequantizeWide(const CpuRequantizeTo *to, const int32_t *sums, const float *factors,
    int64_t count, uint8_t *out);
CpuRequantizeWide *cpu_requantize_wide_for(CpuLevel level);
