#pragma once
/* Makes small constant tensors. Callers: the front ends and the passes. Threads: one at a time per
 * module. */
#include "compiler/ir/ir.h"

/* Makes int64 values of rank 0 (count 1) or 1. */
MUST_CHECK Error *constants_ints(
    IrModule *module, uint32_t rank, uint32_t count, const int64_t *values, IrVariable **out);
/* Makes a number of rank 0. Errors: UNSUPPORTED the type has no numbers. */
MUST_CHECK Error *constants_number(IrModule *module, DType dtype, double value, IrVariable **out);
/* Makes zeros; for strings only an empty tensor. */
MUST_CHECK Error *constants_zeros(
    IrModule *module, DType dtype, const Shape *shape, IrVariable **out);
/* Copies a tensor into host memory that belongs to no device's pool. */
MUST_CHECK Error *constants_copy(IrModule *module, const Tensor *tensor, IrVariable **out);
