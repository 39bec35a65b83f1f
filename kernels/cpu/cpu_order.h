#pragma once
/* One order over the elements of any number type: as 64-bit keys that compare like the numbers. -0
 * equals +0; NaN comes above everything. */
#include <string.h>

#include "kernels/dtype.h"
#include "kernels/scalar/scalar_half.h"

static inline uint64_t cpu_order_float(double x) {
    if (x != x) return UINT64_MAX;
    uint64_t bits = scalar_bits_f64(x == 0.0 ? 0.0 : x);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline uint64_t cpu_order_signed(int64_t x) { return (uint64_t)x ^ (uint64_t)1 << 63; }

#define CPU_ORDER_KEYS(T, convert)                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
        T element;                                                                                 \
        memcpy(                                                                                    \
            &element, (const char *)from + i * stride * (int64_t)sizeof element, sizeof element);  \
        keys[i] = convert;                                                                         \
    }                                                                                              \
    break;

/* The keys of `count` elements of a number type that are `stride` elements apart. */
static inline void cpu_order_keys(
    DType dtype, const void *from, int64_t stride, int64_t count, uint64_t *keys) {
    switch ((uint32_t)dtype) {
    case DTYPE_FLOAT32:
        CPU_ORDER_KEYS(float, cpu_order_float((double)element))
    case DTYPE_FLOAT64:
        CPU_ORDER_KEYS(double, cpu_order_float(element))
    case DTYPE_FLOAT16:
        CPU_ORDER_KEYS(uint16_t, cpu_order_float((double)scalar_widen_float16(element)))
    case DTYPE_BFLOAT16:
        CPU_ORDER_KEYS(uint16_t, cpu_order_float((double)scalar_widen_bfloat16(element)))
    case DTYPE_INT8:
        CPU_ORDER_KEYS(int8_t, cpu_order_signed(element))
    case DTYPE_INT16:
        CPU_ORDER_KEYS(int16_t, cpu_order_signed(element))
    case DTYPE_INT32:
        CPU_ORDER_KEYS(int32_t, cpu_order_signed(element))
    case DTYPE_INT64:
        CPU_ORDER_KEYS(int64_t, cpu_order_signed(element))
    case DTYPE_UINT8:
        CPU_ORDER_KEYS(uint8_t, element)
    case DTYPE_UINT16:
        CPU_ORDER_KEYS(uint16_t, element)
    case DTYPE_UINT32:
        CPU_ORDER_KEYS(uint32_t, element)
    case DTYPE_UINT64:
        CPU_ORDER_KEYS(uint64_t, element)
    default:
        break;
    }
}
