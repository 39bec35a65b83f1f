#pragma once
/* The left operand of products at lower precision, row by row, and int8's sums as float32: what
 * operators.def says of FusedMatMulBFloat16 and FusedMatMulInt8, with the same bits at every
 * level. */
#include "kernels/cpu/cpu_lower_product.h"

/* Rows end with zeros up to a whole group of their form (cpu_lower_product.h). */
typedef struct CpuLowerRows {
    /* bfloat16: rounded; to: float32 or bfloat16. */
    void (*round)(const float *from, int64_t depth, void *to);
    /* int8: to: int16, less their zero, and *out_zero is 0; or uint8. */
    void (*quantize)(
        const float *from, int64_t depth, void *to, float *out_step, int32_t *out_zero);
    /* to[i] = sums[i] * (step * scales[i]). */
    void (*scale)(const int32_t *sums, float step, const float *scales, int64_t count, float *to);
} CpuLowerRows;

/* Forms for AVX512_BF16 and AVX512_VNNI: with CPU_LEVEL_AVX512. */
CpuLowerRows cpu_lower_rows_for(CpuLevel level, CpuLowerForm form);
