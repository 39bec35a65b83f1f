#pragma once
/* float16 and bfloat16 to float32 and back, whole buffers at a time. */
#include "kernels/cpu/cpu_internal.h"

/* dtype: DTYPE_FLOAT16 or DTYPE_BFLOAT16. Widening is exact; narrowing rounds to nearest even,
 * infinities where the value is too large, quiet NaN for NaN. Buffers do not overlap. */
MUST_CHECK Error *cpu_widen(
    CpuDevice *device, uint32_t threads, DType dtype, const void *from, int64_t count, float *to);
MUST_CHECK Error *cpu_narrow(
    CpuDevice *device, uint32_t threads, DType dtype, const float *from, int64_t count, void *to);
/* One value. */
float cpu_widen_one(DType dtype, uint16_t bits);
uint16_t cpu_narrow_one(DType dtype, float value);
