#pragma once
/* Parses the text at the start of a .npy file: a Python dict with exactly the keys descr,
 * fortran_order and shape. Caller: npy.c. Pure: no state, any thread. */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kernels/tensor/shape.h"

typedef struct NpyHeader {
    char kind;           /* f i u b U S */
    uint32_t item_count; /* the number behind the kind: bytes, for U code points; 1 … 2^26 */
    bool big_endian;
    bool fortran_order;
    Shape shape;
} NpyHeader;

/* Parses a header. Errors: CORRUPT not such a dict; UNSUPPORTED other kinds of elements; INVALID a
 * shape that no tensor has. */
MUST_CHECK Error *npy_header_parse(const char *text, size_t size, NpyHeader *out);
/* Returns the bytes of an element in the file. */
size_t npy_header_item_size(const NpyHeader *header);
