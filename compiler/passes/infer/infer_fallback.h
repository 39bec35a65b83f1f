#pragma once
/* Shape inference of an operator whose rule gives no answer: its inputs are unknown, or fit
 * together only for some sizes. Caller: infer_operator.c. Threads: one at a time per context. */
#include "compiler/passes/probe.h"

MUST_CHECK Error *infer_fallback_run(ProbeContext *context, const IrBinding *binding);
/* Returns whether the binding is a Squeeze without axes: the number of remaining dimensions depends
 * on their sizes. */
bool infer_fallback_drops_ones(const IrBinding *binding);
