#pragma once
/* Single elements as double and int64, of every element type with whole bytes (dtype_bits.h has the
 * packed ones, by their index). Slow; for constants, attributes and tests. Called by the compiler,
 * the VM and kernels when they plan. Pure: no state. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/tensor/dtype.h"

/* False for other element types. Rounds to nearest even; integers saturate, NaN is 0; floats of a
 * byte saturate, too. */
bool dtype_scalar_write(DType dtype, double value, void *out);
bool dtype_scalar_read(DType dtype, const void *from, double *out);
/* Whether an element of a float type can hold the value with a single rounding: neither as an
 * infinity nor as a subnormal number, which has fewer bits. False for types of a byte. */
bool dtype_scalar_holds(DType dtype, double value);
/* Exact for integers and bool; false for all others. uint64 above INT64_MAX becomes INT64_MAX. */
bool dtype_scalar_read_int(DType dtype, const void *from, int64_t *out);

uint16_t dtype_scalar_float16(double value);
double dtype_scalar_from_float16(uint16_t bits);
uint16_t dtype_scalar_bfloat16(double value);
double dtype_scalar_from_bfloat16(uint16_t bits);
/* For types of a byte and less, but not bool: the element's bits, 0 above them. NaN becomes 0 in a
 * type without NaN. */
uint8_t dtype_scalar_to_code(DType dtype, double value);
double dtype_scalar_from_code(DType dtype, uint8_t code);
