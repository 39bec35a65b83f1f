#pragma once
/* Calls of products and convolutions at lower precision, with everything that may follow. */
#include "tests/kernels/kernel_call.h"

typedef struct LowerOperands {
    float *left, *scales, *bias, *residual;
    void *weights; /* int8 or bfloat16 */
} LowerOperands;

/* The result's last dimension is that of scales and bias. *out belongs to the caller, and the call
 * reads it; released with lower_fixture_free. */
KernelCall lower_fixture_call(bool int8, const char *name, const char *attributes,
    const Shape *left, const Shape *weights, const Shape *result, LowerOperands *out);
void lower_fixture_free(LowerOperands *operands);

/* Threads, odd addresses, in place, packed weights: one result. */
void lower_fixture_check_runs(const KernelCall *call);
/* The portable device gives the same bits. */
void lower_fixture_check_portable(const KernelCall *call);
/* Of a result's equal parts, each of `size` elements, part `wanted` and no other is NaN. */
void lower_fixture_check_nan(const KernelCall *call, int64_t parts, int64_t size, int64_t wanted);
