#pragma once
/* Packs and unpacks elements of 2, 4 and 6 bits: packed without gaps, the first in the lowest bits
 * of the first byte; unpacked to one byte each. Called by kernels, by the readers of arrays and by
 * the ONNX frontend. Pure: no state.
 *
 * An unpacked byte is raw: the element's bits, 0 above them. Eight elements always end at a byte,
 * so pieces of work that are cut at multiples of PACKED_GROUP never share a byte. */
#include <stdint.h>

#include "kernels/tensor/dtype.h"

enum { PACKED_GROUP = 8 };

/* Unpacks elements first … first + count - 1 of `packed` to out[0] …. bits: 2, 4 or 6. Reads no
 * byte beyond the last element's. */
void dtype_bits_unpack(
    uint32_t bits, const uint8_t *packed, uint64_t first, uint64_t count, uint8_t *out);
/* Packs the low bits of codes[0] … into elements first … of `packed`; first is a multiple of
 * PACKED_GROUP. The bits after the last element in its byte become 0. */
void dtype_bits_pack(
    uint32_t bits, const uint8_t *codes, uint64_t first, uint64_t count, uint8_t *packed);
/* Sets the bits after the last of `count` elements to 0. */
void dtype_bits_clear_rest(uint32_t bits, uint64_t count, uint8_t *packed);

/* One element of any type of fixed size as a number, by its index. Slow; for constants and tests.
 * False for strings. Writing rounds and saturates as dtype_scalar_write does. The elements of a
 * byte must be written in rising order or over whole bytes of 0, since the neighbours' bits are
 * kept. */
bool dtype_bits_read_element(DType dtype, const void *data, uint64_t index, double *out);
bool dtype_bits_write_element(DType dtype, void *data, uint64_t index, double value);
