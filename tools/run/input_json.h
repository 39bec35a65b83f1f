#pragma once
/* An input's elements as JSON. Callers: input_value.c. Pure: no state. */
#include <json-c/json_object.h>

#include "serialize/arrays/array_list.h"
#include "tools/client/command.h"
#include "vm/code/executable.h"

/* Makes an array of nested lists, one list of all elements, or one element. The element type is the
 * port's; of a port that takes anything: int64 for whole numbers, float32 for other ones, bool or
 * string. Nested lists give the shape, with leading dimensions of 1 where the port has more; for
 * one list or one element input_shape.h chooses the free dimensions. "NaN", "Infinity" and
 * "-Infinity" are floats where floats are wanted.
 *
 * data:   is changed: those texts become numbers.
 * Errors: INVALID an element, a length, a shape; UNSUPPORTED. */
MUST_CHECK Error *input_json_read(const CommandContext *context, const Port *port, const char *name,
    json_object *data, NamedArray *out_array);
