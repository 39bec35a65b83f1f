#pragma once
/* Scalars between values and elements of host tensors. */
#include <stdbool.h>

#include "base/error.h"
#include "vm/objects/value.h"

/* False where the element type is no integer or the number does not fit. */
bool scalar_write_int(DType dtype, int64_t value, void *to);
/* int, float and bool values as one element. Errors: INVALID it does not fit, other kinds of
 * values; UNSUPPORTED element types without scalars. */
MUST_CHECK Error *scalar_write(const Value *value, DType dtype, void *to);
/* int64, float64 or bool. Errors: INVALID uint64 beyond int64; UNSUPPORTED. */
MUST_CHECK Error *scalar_read(DType dtype, const void *from, Value *out);
