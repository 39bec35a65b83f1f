#pragma once
/* Combines two elements into one, in the types that the cpu uses. Included by the kernels of
 * indices, lanes and reductions; runs on the GPU. */
#include "kernels/cuda/device/device_elements.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

#define COMBINE_CASES(s)                                                                           \
    switch (combine) {                                                                             \
    case CUDA_COMBINE_ADD:                                                                         \
        return scalar_add_##s(a, b);                                                               \
    case CUDA_COMBINE_MUL:                                                                         \
        return scalar_mul_##s(a, b);                                                               \
    case CUDA_COMBINE_MAX:                                                                         \
        return scalar_max_##s(a, b);                                                               \
    case CUDA_COMBINE_MIN:                                                                         \
        return scalar_min_##s(a, b);                                                               \
    default:                                                                                       \
        return b;                                                                                  \
    }
DEVICE float combine_f32(uint32_t combine, float a, float b){COMBINE_CASES(f32)} DEVICE
    double combine_f64(uint32_t combine, double a, double b){COMBINE_CASES(f64)} DEVICE int64_t
    combine_i64(uint32_t combine, int64_t a, int64_t b){COMBINE_CASES(int64)} DEVICE uint64_t
    combine_u64(uint32_t combine, uint64_t a, uint64_t b){COMBINE_CASES(uint64)}

/* Sets b in place of a or combines them, as elements' bits. */
DEVICE uint64_t combine_elements(uint32_t combine, uint32_t dtype, uint64_t a, uint64_t b) {
    if (combine == CUDA_COMBINE_SET) return b;
    if (dtype == DTYPE_FLOAT64)
        return scalar_bits_f64(combine_f64(combine, scalar_make_f64(a), scalar_make_f64(b)));
    if (element_is_float(dtype))
        return element_from_f32(
            dtype, combine_f32(combine, element_to_f32(dtype, a), element_to_f32(dtype, b)));
    a = element_widen(dtype, a);
    b = element_widen(dtype, b);
    if (element_is_signed(dtype)) return (uint64_t)combine_i64(combine, (int64_t)a, (int64_t)b);
    return combine_u64(combine, a, b);
}
