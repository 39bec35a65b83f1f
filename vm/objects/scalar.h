#pragma once
/* Converts scalars between values and elements of host tensors. Called by handlers of instructions
 * and by the assembler. Pure: no state. */
#include <stdbool.h>

#include "base/error.h"
#include "vm/objects/value.h"

/* Writes an integer as one element. False where the element type is no integer or the number does
 * not fit. */
bool scalar_write_int(DType dtype, int64_t value, void *to);
/* Writes an int, float or bool value as one element. Errors: INVALID the value does not fit, or is
 * of another kind; UNSUPPORTED element types without scalars. */
MUST_CHECK Error *scalar_write(const Value *value, DType dtype, void *to);
/* Reads one element as int64, float64 or bool. Errors: INVALID uint64 beyond int64; UNSUPPORTED. */
MUST_CHECK Error *scalar_read(DType dtype, const void *from, Value *out);
