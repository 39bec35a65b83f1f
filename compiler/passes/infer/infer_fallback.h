#pragma once
/* Shape inference of an operator whose rule does not answer: its inputs are not known, or they fit
 * together only for some sizes. */
#include "compiler/passes/probe.h"

MUST_CHECK Error *infer_fallback_run(ProbeContext *context, const IrBinding *binding);
/* A Squeeze that names no axes: how many dimensions are left depends on their sizes. */
bool infer_fallback_drops_ones(const IrBinding *binding);
