#pragma once
/* The shape of an input whose elements are written on the command line. Callers: input_value.c,
 * input_image.c. Pure: no state. */
#include "tools/client/command.h"
#include "vm/code/executable.h"

/* The port's shape with the dimensions that --dim gives; -1 stands for those still free. With
 * --items the leading dimension is free, since it counts items.
 *
 * Errors: UNSUPPORTED the rank is unknown; USAGE a --dim that is no number. */
MUST_CHECK Error *input_shape_of(const CommandContext *context, const Port *port, Shape *out);
/* Sets every free dimension to 1. */
void input_shape_close(Shape *inout_shape);
/* Chooses the free dimensions for `count` elements in one list: the last free dimension takes as
 * many as there are, the free ones before it are 1. Errors: INVALID no such shape has that many
 * elements; both are named. */
MUST_CHECK Error *input_shape_fit(const char *name, int64_t count, Shape *inout_shape);
/* Checks that each --dim names a dimension of the function. Errors: USAGE. */
MUST_CHECK Error *input_shape_check_options(
    const CommandContext *context, const Function *function);
