#pragma once
/* Converts constant weights of a product or a convolution to a lower precision. Caller:
 * lower_precision.c. Pure: no state, any thread. */
#include "compiler/ir/ir.h"

/* How a product reads float32 weights [rows, columns]: as stored or transposed, times alpha. Or
 * filters [M, …], each of which is a column and is converted in its own order. */
typedef struct LowerWeights {
    const Tensor *tensor;
    bool transposed;
    bool is_filters;
    double alpha;
} LowerWeights;

/* Converts to [K, N] and rounds each element once. *out NULL: a rounded element is not finite. */
MUST_CHECK Error *lower_weights_bfloat16(const LowerWeights *weights, Tensor **out);
/* Converts to [K, N] of -127 … 127 and scales [N]: the largest magnitude of a column is 127. *out
 * NULL: an element is not finite. */
MUST_CHECK Error *lower_weights_int8(
    const LowerWeights *weights, Tensor **out, Tensor **out_scales);
