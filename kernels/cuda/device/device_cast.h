#pragma once
/* Converts one element from one type to another, as Cast does. Pairs that the cpu converts in
 * several steps have several steps here, too. Included by device_step.h; runs on the GPU. */
#include "kernels/cuda/device/device_elements.h"
#include "kernels/scalar/scalar_convert.h"
#include "kernels/scalar/scalar_float8.h"

DEVICE int cast_float8_form(uint32_t dtype, ScalarFloat8 *out) {
    switch (dtype) {
    case DTYPE_FLOAT8E4M3FN:
        *out = SCALAR_E4M3FN;
        return 1;
    case DTYPE_FLOAT8E4M3FNUZ:
        *out = SCALAR_E4M3FNUZ;
        return 1;
    case DTYPE_FLOAT8E5M2:
        *out = SCALAR_E5M2;
        return 1;
    case DTYPE_FLOAT8E5M2FNUZ:
        *out = SCALAR_E5M2FNUZ;
        return 1;
    default:
        return 0;
    }
}

#define CAST_TO_INTEGERS(s, x)                                                                     \
    case DTYPE_INT8:                                                                               \
        return (uint8_t)scalar_##s##_to_int8(x);                                                   \
    case DTYPE_INT16:                                                                              \
        return (uint16_t)scalar_##s##_to_int16(x);                                                 \
    case DTYPE_INT32:                                                                              \
        return (uint32_t)scalar_##s##_to_int32(x);                                                 \
    case DTYPE_INT64:                                                                              \
        return (uint64_t)scalar_##s##_to_int64(x);                                                 \
    case DTYPE_UINT8:                                                                              \
        return scalar_##s##_to_uint8(x);                                                           \
    case DTYPE_UINT16:                                                                             \
        return scalar_##s##_to_uint16(x);                                                          \
    case DTYPE_UINT32:                                                                             \
        return scalar_##s##_to_uint32(x);                                                          \
    case DTYPE_UINT64:                                                                             \
        return scalar_##s##_to_uint64(x);

DEVICE uint64_t cast_from_f32(uint32_t to, float x) {
    switch (to) {
        CAST_TO_INTEGERS(f32, x)
    case DTYPE_BOOL:
        return x != 0.0f;
    case DTYPE_FLOAT64:
        return scalar_bits_f64((double)x);
    default:
        return element_from_f32(to, x);
    }
}

DEVICE uint64_t cast_from_f64(uint32_t to, double x, int saturate) {
    ScalarFloat8 form;
    if (cast_float8_form(to, &form)) return scalar_narrow_float8(form, x, saturate);
    switch (to) {
        CAST_TO_INTEGERS(f64, x)
    case DTYPE_BOOL:
        return x != 0.0;
    default:
        return element_from_f64(to, x);
    }
}

DEVICE uint64_t cast_from_integer(uint32_t from, uint32_t to, uint64_t bits) {
    uint64_t wide = element_widen(from, bits);
    if (from == DTYPE_BOOL) wide = bits != 0;
    switch (to) {
    case DTYPE_FLOAT32:
        return scalar_bits_f32(element_is_signed(from) ? (float)(int64_t)wide : (float)wide);
    case DTYPE_FLOAT64:
        return scalar_bits_f64(element_is_signed(from) ? (double)(int64_t)wide : (double)wide);
    case DTYPE_BOOL:
        return wide != 0;
    default:
        return element_cut(element_size(to), wide);
    }
}

DEVICE uint64_t cast_element(uint32_t from, uint32_t to, int saturate, uint64_t bits) {
    ScalarFloat8 form;
    if (cast_float8_form(from, &form))
        return cast_from_f32(to, (float)scalar_widen_float8(form, (uint8_t)bits));
    if (from == DTYPE_FLOAT64) return cast_from_f64(to, scalar_make_f64(bits), saturate);
    if (element_is_float(from)) return cast_from_f32(to, element_to_f32(from, bits));
    return cast_from_integer(from, to, bits);
}
