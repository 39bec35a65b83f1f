#pragma once
/* Weights of few bits that a model holds as bytes: the readers of onnx_nbits.c and
 * onnx_gather_blocks.c make tensors of Layover's packed types of them. Pure: no state, any thread.
 */
#include "compiler/frontend/base/onnx_internal.h"

enum { FEW_BITS_BLOCK_MIN = 16 /* the least number of elements that share a scale */ };

/* Codes in rows of whole bytes; within a row they follow each other without gaps, the first in the
 * lowest bits. */
typedef struct FewBits {
    const Tensor *packed; /* uint8, on the host */
    uint64_t rows;
    uint64_t row_bytes;
    uint64_t count;  /* codes that are read of each row */
    uint32_t bits;   /* 1 to 8 */
    bool high_first; /* of 4 bits: the first code of a byte is in its high bits */
    bool is_signed;  /* codes become signed: 2^(bits - 1) is subtracted */
} FewBits;

/* The type of 2, 4 or 8 bits that holds the codes. */
DType few_bits_dtype(const FewBits *codes);
/* Makes a constant of that type and shape, of rows * count elements or more; the others are 0. A
 * few kilobytes are unpacked at a time. Errors: INVALID packed is not rows * row_bytes of uint8. */
MUST_CHECK Error *few_bits_constant(const OnnxNode *node, const FewBits *codes, const char *input,
    const Shape *shape, IrVariable **out);
/* Makes a constant of a constant of bytes: each row of its last dimension is `count` codes of 2, 4
 * or 8 bits; count <= 0: as many as its bytes hold. Errors: INVALID bits, rows of other sizes;
 * UNSUPPORTED the bytes are no constant. */
MUST_CHECK Error *few_bits_unpack(const OnnxNode *node, const IrVariable *bytes, int64_t bits,
    int64_t count, bool is_signed, IrVariable **out);
/* The constant of an input. Errors: INVALID it is missing; UNSUPPORTED it is no constant. */
MUST_CHECK Error *few_bits_input(
    const OnnxNode *node, uint32_t index, const char *input, Tensor **out);
/* Reads an integer attribute that must be there. Errors: INVALID it is missing or below 1. */
MUST_CHECK Error *few_bits_size(const OnnxNode *node, const char *name, int64_t *out);
/* Checks a number of elements that share a scale. Errors: INVALID. */
MUST_CHECK Error *few_bits_check_block(int64_t block);
