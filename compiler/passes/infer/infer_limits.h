#pragma once
/* Shape inference where a table has fewer rows than a size may ask for: table[0:size] has min(size,
 * rows) rows. The shape that the worlds show is right up to the number of rows, and an operator
 * that needs the size itself refuses larger ones. Caller: infer_operator.c. Threads: one at a time
 * per context. */
#include "compiler/passes/probe.h"

/* Returns whether the binding is a slice from the first element on, in steps of one, whose shape is
 * wrong only for sizes beyond the length of what is cut. */
bool infer_limits_of_slice(const ProbeContext *context, const IrBinding *binding);
/* Returns whether a result with a limited input has the shape that the worlds show for all sizes:
 * of an elementwise operator, if inputs without taint have all of its dimensions. A dimension that
 * was cut off then fits only if it is 1, and is not the result's. */
bool infer_limits_are_lifted(
    const ProbeContext *context, const IrBinding *binding, const Probe *result);
