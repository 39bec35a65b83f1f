#pragma once
/* Finds what makes the weights of products, convolutions, recurrent networks, normalisations and
 * tables that are gathered from. Devices pack a weight only if it is a constant, so what makes it
 * from constants alone is worth more room than other constant expressions. Called by
 * fold_constants.c. Threads: one at a time per module. */
#include "compiler/ir/ir.h"

/* Marks the variables that are weights, or whose only use with constants is to make some.
 *
 * out_marks: an array by variable id; release with memory_free.
 * Errors:    OUT_OF_MEMORY. */
MUST_CHECK Error *weight_makers_mark(const IrModule *module, bool **out_marks);
/* Whether the binding is an operator that makes a marked variable of floats and reads no table of
 * codes: codes stay as they are, for the passes that compute with them. */
bool weight_makers_has(const bool *marks, const IrBinding *binding);
