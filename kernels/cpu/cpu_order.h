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

#define CPU_ORDER_LOAD(T, convert)                                                                 \
    {                                                                                              \
        T element;                                                                                 \
        memcpy(&element, (const char *)from + (size_t)index * sizeof element, sizeof element);     \
        return convert;                                                                            \
    }

/* The key of an element; 0 for types that are no numbers. */
static inline uint64_t cpu_order_key(DType dtype, const void *from, int64_t index) {
    if (dtype == DTYPE_FLOAT32) CPU_ORDER_LOAD(float, cpu_order_float((double)element))
    if (dtype == DTYPE_FLOAT64) CPU_ORDER_LOAD(double, cpu_order_float(element))
    if (dtype == DTYPE_FLOAT16)
        CPU_ORDER_LOAD(uint16_t, cpu_order_float((double)scalar_widen_float16(element)))
    if (dtype == DTYPE_BFLOAT16)
        CPU_ORDER_LOAD(uint16_t, cpu_order_float((double)scalar_widen_bfloat16(element)))
    if (dtype == DTYPE_INT8) CPU_ORDER_LOAD(int8_t, cpu_order_signed(element))
    if (dtype == DTYPE_INT16) CPU_ORDER_LOAD(int16_t, cpu_order_signed(element))
    if (dtype == DTYPE_INT32) CPU_ORDER_LOAD(int32_t, cpu_order_signed(element))
    if (dtype == DTYPE_INT64) CPU_ORDER_LOAD(int64_t, cpu_order_signed(element))
    if (dtype == DTYPE_UINT8) CPU_ORDER_LOAD(uint8_t, element)
    if (dtype == DTYPE_UINT16) CPU_ORDER_LOAD(uint16_t, element)
    if (dtype == DTYPE_UINT32) CPU_ORDER_LOAD(uint32_t, element)
    if (dtype == DTYPE_UINT64) CPU_ORDER_LOAD(uint64_t, element)
    return 0;
}
