#pragma once
/* Elements of 2, 4 and 6 bits: packed without gaps, the first in the lowest bits of the first byte,
 * to one byte each and back.
 *
 * As bytes they are raw: the element's bits, all above them 0. Eight elements always end with a
 * byte, so work that is cut at multiples of PACKED_GROUP never shares one. */
#include <stdint.h>

#include "kernels/tensor/dtype.h"

enum { PACKED_GROUP = 8 };

/* Elements first … first + count - 1 of `packed` to out[0] …. bits: 2, 4 or 6. Reads no byte beyond
 * the last element's. */
void dtype_bits_unpack(
    uint32_t bits, const uint8_t *packed, uint64_t first, uint64_t count, uint8_t *out);
/* The low bits of codes[0] … to elements first … of `packed`; first is a multiple of PACKED_GROUP.
 * The bits behind the last element of its byte become 0. */
void dtype_bits_pack(
    uint32_t bits, const uint8_t *codes, uint64_t first, uint64_t count, uint8_t *packed);
/* Bits behind the last of `count` elements become 0, whatever they came with. */
void dtype_bits_clear_rest(uint32_t bits, uint64_t count, uint8_t *packed);

/* One element of any type of fixed size as a number, by its index. Slow; for constants and tests.
 * False for strings. write rounds and saturates as dtype_scalar_write does, and must be given the
 * elements of a byte in rising order or over whole bytes of 0: it leaves its neighbours alone. */
bool dtype_bits_read_element(DType dtype, const void *data, uint64_t index, double *out);
bool dtype_bits_write_element(DType dtype, void *data, uint64_t index, double value);
