#pragma once
/* Constant weights of a product or a convolution at a lower precision. */
#include "compiler/ir/ir.h"

/* How a product reads float32 weights [rows, columns]: as they lie or transposed, times alpha. Or
 * filters [M, …], each of which is a column, and which are made in their own order. */
typedef struct LowerWeights {
    const Tensor *tensor;
    bool transposed;
    bool is_filters;
    double alpha;
} LowerWeights;

/* [K, N], each element rounded once. *out NULL: not all of them are finite afterwards. */
MUST_CHECK Error *lower_weights_bfloat16(const LowerWeights *weights, Tensor **out);
/* [K, N] of -127 … 127 and scales [N]: the largest magnitude of a column is 127. *out NULL: not all
 * are finite. */
MUST_CHECK Error *lower_weights_int8(
    const LowerWeights *weights, Tensor **out, Tensor **out_scales);
