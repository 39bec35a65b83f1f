#pragma once
/* Host tensors made of numbers, for any element type. Needs no test framework: what goes wrong here
 * is the test's own mistake and ends the program. */
#include "kernels/tensor/tensor.h"

/* From values of any kind; rank and dims follow. Release with tensor_release. */
Tensor *device_tensor(DType dtype, const double *values, uint32_t rank, ...);
/* Filled with repeatable numbers in [low, high]; integers whole. Types without numbers (string)
 * stay zero bytes. */
Tensor *device_tensor_random(
    DType dtype, const Shape *shape, double low, double high, uint64_t seed);
double device_tensor_get(const Tensor *tensor, int64_t index);
/* Of dtype, shape and bytes. */
uint64_t device_tensor_hash(const Tensor *tensor);
