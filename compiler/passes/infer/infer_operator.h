#pragma once
/* Shape inference of one operator call: runs its rule in every world. Caller: infer_shapes.c.
 * Threads: one at a time per context. */
#include "compiler/passes/probe.h"

MUST_CHECK Error *infer_operator_run(ProbeContext *context, const IrBinding *binding);
