#pragma once
/* The keys of scalar_order.h for many elements at a time. Called by the kernels that sort or
 * search, on the threads of a launch. Pure: no state. */
#include <string.h>

#include "kernels/tensor/dtype.h"
#include "kernels/scalar/scalar_half.h"
#include "kernels/scalar/scalar_order.h"

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
        CPU_ORDER_KEYS(float, scalar_order_f64((double)element))
    case DTYPE_FLOAT64:
        CPU_ORDER_KEYS(double, scalar_order_f64(element))
    case DTYPE_FLOAT16:
        CPU_ORDER_KEYS(uint16_t, scalar_order_f64((double)scalar_widen_float16(element)))
    case DTYPE_BFLOAT16:
        CPU_ORDER_KEYS(uint16_t, scalar_order_f64((double)scalar_widen_bfloat16(element)))
    case DTYPE_INT8:
        CPU_ORDER_KEYS(int8_t, scalar_order_int64(element))
    case DTYPE_INT16:
        CPU_ORDER_KEYS(int16_t, scalar_order_int64(element))
    case DTYPE_INT32:
        CPU_ORDER_KEYS(int32_t, scalar_order_int64(element))
    case DTYPE_INT64:
        CPU_ORDER_KEYS(int64_t, scalar_order_int64(element))
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
