#pragma once
/* Small pieces that several sections share: shapes, scalars, the filter for an element type. */
#include "base/bytes.h"
#include "kernels/tensor/shape.h"
#include "serialize/chunk/chunk.h"
#include "vm/objects/value.h"

/* u8 rank, i64 dims. */
void value_bytes_write_shape(ByteWriter *writer, const Shape *shape);
/* dims_min: 0, or -1 where dynamic ones are allowed. Errors: CORRUPT. */
MUST_CHECK Error *value_bytes_read_shape(ByteReader *reader, int64_t dims_min, Shape *out);
/* u8. none_allowed: DTYPE_NONE is accepted. Errors: CORRUPT. */
MUST_CHECK Error *value_bytes_read_dtype(ByteReader *reader, bool none_allowed, DType *out);
/* u8 that must be 0 or 1. */
MUST_CHECK Error *value_bytes_read_bool(ByteReader *reader, bool *out);
/* u8 tag and, for all but objects, the value; an object's bytes are the caller's to write behind.
 */
void value_bytes_write_scalar(ByteWriter *writer, const Value *value);
/* What follows a tag that is no object's. Errors: CORRUPT for other tags, too. */
MUST_CHECK Error *value_bytes_read_scalar(ByteReader *reader, uint8_t tag, Value *out);
ChunkFilter value_bytes_filter(DType dtype);
