#pragma once
/* Elements of up to 32 bits to and from float32, by runs, for quantization and the casts of the
 * smallest types. Runs are cut at CPU_SMALL_RUN elements, so packed ones never share a byte. Called
 * by the casts and the quantized kernels, on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/dtype.h"

enum { CPU_SMALL_RUN = 1024 };

/* Prepared at plan time. */
typedef struct CpuWiden {
    DType dtype;
    uint32_t bits;
    float table[256]; /* for types of a byte and less, by the element's bits */
} CpuWiden;

/* dtype: a float type but float64, or an integer type but the 64-bit ones and uint32. */
void cpu_widen_init(DType dtype, CpuWiden *out);
/* Elements first … first + count - 1 of data; at most CPU_SMALL_RUN. int32 is rounded. */
void cpu_widen_run(
    const CpuWiden *widen, const void *data, uint64_t first, uint64_t count, float *out);
float cpu_widen_one(const CpuWiden *widen, const void *data, uint64_t index);

/* float32, float16 or bfloat16: rounds in place to that type's precision. */
void cpu_small_round(DType dtype, float *values, uint64_t count);
/* Rounds values to elements first … of data, first a multiple of CPU_SMALL_RUN, count at most that.
 * Integers (of up to 16 bits) saturate, NaN is 0; float8 saturates if `saturate`. */
void cpu_small_narrow(
    DType dtype, bool saturate, const float *values, void *data, uint64_t first, uint64_t count);
/* Writes the low bits of codes as elements first … of a packed tensor, or whole bytes unchanged. */
void cpu_small_write_codes(
    uint32_t bits, const uint8_t *codes, void *data, uint64_t first, uint64_t count);
