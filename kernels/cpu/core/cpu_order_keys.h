#pragma once
/* Keys of 32 bits for float32 elements beside each other, which kernels that look for the largest
 * elements compare many at a time. They compare as the keys of cpu_order.h do: -0 equals +0, and a
 * NaN comes above everything. Called on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

/* flip: UINT32_MAX turns the order around, 0 does not. out_most: the largest key of `count` >= 1,
 * after that. */
typedef void CpuOrderKeys(
    const float *x, int64_t count, uint32_t flip, uint32_t *keys, uint32_t *out_most);
CpuOrderKeys *cpu_order_keys_for(CpuLevel level);
