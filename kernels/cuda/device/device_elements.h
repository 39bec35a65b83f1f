#pragma once
/* Elements of tensors: moved as bits, computed with as float32, float64 or 64-bit integers.
 * Included by most kernels; runs on the GPU. */
#include "kernels/cuda/device/device_language.h"
#include "kernels/tensor/dtype.h"
#include "kernels/scalar/scalar_half.h"

/* The element's bytes, zeros above them. size: 1, 2, 4 or 8. */
DEVICE uint64_t element_load(uint64_t base, uint32_t size, int64_t index) {
    switch (size) {
    case 1:
        return ((const uint8_t *)(uintptr_t)base)[index];
    case 2:
        return ((const uint16_t *)(uintptr_t)base)[index];
    case 4:
        return ((const uint32_t *)(uintptr_t)base)[index];
    default:
        return ((const uint64_t *)(uintptr_t)base)[index];
    }
}

DEVICE void element_store(uint64_t base, uint32_t size, int64_t index, uint64_t bits) {
    switch (size) {
    case 1:
        ((uint8_t *)(uintptr_t)base)[index] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)(uintptr_t)base)[index] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)(uintptr_t)base)[index] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)(uintptr_t)base)[index] = bits;
        break;
    }
}

typedef struct LANES_ALIGNED(16) ElementUnit {
    uint64_t of[2];
} ElementUnit;

/* 1, 2, 4, 8 or 16 bytes. */
DEVICE void element_move(
    uint64_t to, int64_t to_index, uint64_t from, int64_t from_index, uint32_t size) {
    if (size == 16)
        ((ElementUnit *)(uintptr_t)to)[to_index] =
            ((const ElementUnit *)(uintptr_t)from)[from_index];
    else
        element_store(to, size, to_index, element_load(from, size, from_index));
}

/* float32, float16, bfloat16. */
DEVICE float element_to_f32(uint32_t dtype, uint64_t bits) {
    if (dtype == DTYPE_FLOAT16) return scalar_widen_float16((uint16_t)bits);
    if (dtype == DTYPE_BFLOAT16) return scalar_widen_bfloat16((uint16_t)bits);
    return scalar_make_f32((uint32_t)bits);
}

DEVICE uint64_t element_from_f32(uint32_t dtype, float value) {
    if (dtype == DTYPE_FLOAT16) return scalar_narrow_float16(value);
    if (dtype == DTYPE_BFLOAT16) return scalar_narrow_bfloat16(value);
    return scalar_bits_f32(value);
}

/* Any of the four float types. */
DEVICE double element_to_f64(uint32_t dtype, uint64_t bits) {
    return dtype == DTYPE_FLOAT64 ? scalar_make_f64(bits) : (double)element_to_f32(dtype, bits);
}

/* Rounded once. */
DEVICE uint64_t element_from_f64(uint32_t dtype, double value) {
    if (dtype == DTYPE_FLOAT64) return scalar_bits_f64(value);
    if (dtype == DTYPE_FLOAT32) return scalar_bits_f32((float)value);
    return element_from_f32(dtype, scalar_narrow_to_odd(value));
}

DEVICE uint32_t element_is_float(uint32_t dtype) {
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64 || dtype == DTYPE_FLOAT16 ||
           dtype == DTYPE_BFLOAT16;
}

DEVICE uint32_t element_is_signed(uint32_t dtype) {
    return dtype == DTYPE_INT8 || dtype == DTYPE_INT16 || dtype == DTYPE_INT32 ||
           dtype == DTYPE_INT64;
}

/* Bytes of an element of the number types and bool. */
DEVICE uint32_t element_size(uint32_t dtype) {
    switch (dtype) {
    case DTYPE_FLOAT64:
    case DTYPE_INT64:
    case DTYPE_UINT64:
        return 8;
    case DTYPE_FLOAT32:
    case DTYPE_INT32:
    case DTYPE_UINT32:
        return 4;
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
    case DTYPE_INT16:
    case DTYPE_UINT16:
        return 2;
    default:
        return 1;
    }
}

/* Integers sign-extended to 64 bits; unsigned ones and bool unchanged. */
DEVICE uint64_t element_widen(uint32_t dtype, uint64_t bits) {
    switch (dtype) {
    case DTYPE_INT8:
        return (uint64_t)(int64_t)(int8_t)bits;
    case DTYPE_INT16:
        return (uint64_t)(int64_t)(int16_t)bits;
    case DTYPE_INT32:
        return (uint64_t)(int64_t)(int32_t)bits;
    default:
        return bits;
    }
}

/* The low bytes that an element of that size has. */
DEVICE uint64_t element_cut(uint32_t size, uint64_t bits) {
    return size == 8 ? bits : bits & (((uint64_t)1 << 8 * size) - 1);
}

/* The offset of an element's coordinates, found by division: in 32 bits if the count allows it,
 * which is several times faster. */
DEVICE int64_t element_offset(
    uint64_t index, uint64_t count, uint32_t rank, const int64_t *dims, const int64_t *strides) {
    int64_t offset = 0;
    if (count <= UINT32_MAX) {
        uint32_t rest = (uint32_t)index;
        for (uint32_t d = rank; d-- > 1;) {
            uint32_t dim = (uint32_t)dims[d], next = rest / dim;
            offset += (int64_t)(rest - next * dim) * strides[d];
            rest = next;
        }
        return offset + (int64_t)rest * strides[0];
    }
    for (uint32_t d = rank; d-- > 1;) {
        offset += (int64_t)(index % (uint64_t)dims[d]) * strides[d];
        index /= (uint64_t)dims[d];
    }
    return offset + (int64_t)index * strides[0];
}
