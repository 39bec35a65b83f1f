#pragma once
/* The order of a Transpose, as passes ask for it. Called by the passes. Pure: no state. */
#include "compiler/ir/ir.h"

/* Whether the binding is a Transpose with exactly this order. binding: may be NULL. */
bool ir_permutes(const IrBinding *binding, const int64_t *order, uint32_t rank);
/* Whether the Transpose exchanges the last two dimensions and keeps the others. */
bool ir_swaps_last(const IrBinding *transpose);
