#pragma once
/* Small pieces that several formats share: shapes, scalars, the filter for an element type.
 * Callers: serialize/ and scheduler/. Pure: no state, any thread. */
#include "base/bytes.h"
#include "kernels/tensor/shape.h"
#include "serialize/chunk/chunk.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/value.h"

/* A shape as a value: u8 count, i64 numbers. Errors: CORRUPT. */
void value_bytes_write_shape_object(ByteWriter *writer, const ShapeObject *shape);
MUST_CHECK Error *value_bytes_read_shape_object(ByteReader *reader, Value *out);
/* Writes a shape: u8 rank, i64 dims. */
void value_bytes_write_shape(ByteWriter *writer, const Shape *shape);
/* Reads a shape. dims_min: 0, or -1 where dynamic dimensions are allowed. Errors: CORRUPT. */
MUST_CHECK Error *value_bytes_read_shape(ByteReader *reader, int64_t dims_min, Shape *out);
/* Reads an element type: u8. none_allowed: DTYPE_NONE is accepted. Errors: CORRUPT. */
MUST_CHECK Error *value_bytes_read_dtype(ByteReader *reader, bool none_allowed, DType *out);
/* Reads a bool: u8 that must be 0 or 1. */
MUST_CHECK Error *value_bytes_read_bool(ByteReader *reader, bool *out);
/* Writes a u8 tag and, unless the value is an object, the value. The caller writes an object's
 * bytes behind. */
void value_bytes_write_scalar(ByteWriter *writer, const Value *value);
/* Reads the value behind a tag that is not an object's. Errors: CORRUPT also for other tags. */
MUST_CHECK Error *value_bytes_read_scalar(ByteReader *reader, uint8_t tag, Value *out);
ChunkFilter value_bytes_filter(DType dtype);
