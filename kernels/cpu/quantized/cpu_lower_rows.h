#pragma once
/* The left operand of products and convolutions at lower precision, row by row, and int8's sums as
 * float32, as operators.def defines FusedMatMulBFloat16 and FusedMatMulInt8; the same bits at every
 * level. Called by the kernels of cpu/quantized/ on the threads of a launch. Pure: no state. */
#include "kernels/cpu/quantized/cpu_lower_product.h"

/* The extremes of the finite elements that are quantized together; the range includes 0. */
typedef struct CpuLowerRange {
    float low, high;
    bool finite; /* so far no infinity and no NaN */
} CpuLowerRange;
static const CpuLowerRange CPU_LOWER_NOTHING = {0, 0, true};

/* The parameters of the quantization. */
typedef struct CpuLowerScale {
    float inverse, step;
    int32_t zero;
    bool finite; /* false: some elements are not finite, and their products are added to the sums */
} CpuLowerScale;
CpuLowerScale cpu_lower_scale_of(const CpuLowerRange *range);

/* Rows end with zeros up to a whole group of their form (cpu_lower_product.h). */
typedef struct CpuLowerRows {
    /* bfloat16: rounds; to: float32 or bfloat16. */
    void (*round)(const float *from, int64_t count, void *to);
    /* int8: widens the range. */
    void (*measure)(const float *from, int64_t count, CpuLowerRange *inout_range);
    /* int8: to: int16, minus the zero; or uint8. Elements that are not finite become the zero. */
    void (*quantize)(const float *from, int64_t count, const CpuLowerScale *scale, void *to);
    /* to[i] = sums[i] * (step * scales[i]). */
    void (*scale)(const int32_t *sums, float step, const float *scales, int64_t count, float *to);
} CpuLowerRows;

/* How much the elements of a row of `form` are too large. */
static inline int32_t cpu_lower_zero(CpuLowerForm form, const CpuLowerScale *scale) {
    return cpu_lower_forms[form].head > 0 ? scale->zero : 0;
}

/* Forms for AVX512_BF16 and AVX512_VNNI: with CPU_LEVEL_AVX512. */
CpuLowerRows cpu_lower_rows_for(CpuLevel level, CpuLowerForm form);
