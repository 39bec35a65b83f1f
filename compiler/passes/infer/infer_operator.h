#pragma once
/* Shape inference of one operator call: its rule, in every world. */
#include "compiler/passes/probe.h"

MUST_CHECK Error *infer_operator_run(ProbeContext *context, const IrBinding *binding);
