#pragma once
/* A single order over the elements of any number type: 64-bit keys that compare like the numbers.
 * -0 equals +0; NaN comes above everything. Used by cpu_order.h and the CUDA kernels on lanes.
 * Pure: no state. */
#include "kernels/scalar/scalar_base.h"

SCALAR uint64_t scalar_order_f64(double x) {
    if (x != x) return UINT64_MAX;
    uint64_t bits = scalar_bits_f64(x == 0.0 ? 0.0 : x);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

SCALAR uint64_t scalar_order_int64(int64_t x) { return (uint64_t)x ^ (uint64_t)1 << 63; }
