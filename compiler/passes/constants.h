#pragma once
/* Small constant tensors that passes need. */
#include "compiler/ir/ir.h"

/* int64; rank 0 (count 1) or 1. */
MUST_CHECK Error *constants_ints(
    IrModule *module, uint32_t rank, uint32_t count, const int64_t *values, IrVariable **out);
/* Zeros; of strings only none at all. */
MUST_CHECK Error *constants_zeros(
    IrModule *module, DType dtype, const Shape *shape, IrVariable **out);
/* A copy of a tensor in host memory that belongs to no device's pool. */
MUST_CHECK Error *constants_copy(IrModule *module, const Tensor *tensor, IrVariable **out);
