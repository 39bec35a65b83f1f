#pragma once
/* Shape inference of an operator whose rule does not answer: its inputs are not known, or they fit
 * together only for some sizes. */
#include "compiler/passes/probe.h"

MUST_CHECK Error *infer_fallback_run(ProbeContext *context, const IrBinding *binding);
