#pragma once
/* Quantizes float32 as DynamicQuantizeLinear does: to uint8 of the range of all elements, 0 among
 * them. Called by the kernels of that operator and of recurrent networks in bytes. Pure: no
 * state. */
#include "kernels/cpu/core/cpu_internal.h"

/* The range always contains 0; NaN is ignored. */
typedef struct CpuDynamicRange {
    float low, high;
} CpuDynamicRange;

typedef struct CpuDynamicScale {
    float scale;
    uint8_t zero_point;
} CpuDynamicScale;

typedef struct CpuDynamicQuantize {
    void (*measure)(const float *from, int64_t count, CpuDynamicRange *inout_range);
    void (*quantize)(const float *from, int64_t count, float scale, float zero_point, uint8_t *to);
} CpuDynamicQuantize;

/* The same bits at every level. */
CpuDynamicQuantize cpu_dynamic_quantize_for(CpuLevel level);
/* Measures and quantizes count elements on so many threads. Errors: CANCELLED by the stop. */
MUST_CHECK Error *cpu_dynamic_quantize_run(const CpuDynamicQuantize *code, CpuDevice *device,
    uint32_t threads, const float *from, int64_t count, uint8_t *to, CpuDynamicScale *out_scale);
