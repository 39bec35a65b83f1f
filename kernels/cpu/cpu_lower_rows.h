#pragma once
/* The left operand of products at lower precision, row by row, and int8's sums as float32: what
 * operators.def says of FusedMatMulBFloat16 and FusedMatMulInt8, with the same bits at every
 * level. */
#include "kernels/cpu/cpu_internal.h"

typedef struct CpuLowerRows {
    /* to[2 * pairs of depth]: rounded to bfloat16, as float32. */
    void (*round)(const float *from, int64_t depth, float *to);
    /* to: bytes less their zero; answers the row's step. */
    void (*quantize)(const float *from, int64_t depth, int16_t *to, float *out_step);
    /* to[i] = sums[i] * (step * scales[i]). */
    void (*scale)(const int32_t *sums, float step, const float *scales, int64_t count, float *to);
} CpuLowerRows;

CpuLowerRows cpu_lower_rows_for(CpuLevel level);
