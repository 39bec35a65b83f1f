#pragma once
/* Shape inference of lists and fields: the common type of a list's elements. Caller:
 * infer_shapes.c.
 * Threads: one at a time per context. */
#include "compiler/passes/probe.h"

/* ListNew and ListAppend. */
MUST_CHECK Error *infer_lists_make(ProbeContext *context, const IrBinding *binding);
MUST_CHECK Error *infer_lists_concat(ProbeContext *context, const IrBinding *binding);
/* Optionals, and the packed functions of packed_calls.def. */
MUST_CHECK Error *infer_lists_optional(ProbeContext *context, const IrBinding *binding);
MUST_CHECK Error *infer_lists_call_packed(ProbeContext *context, const IrBinding *binding);
MUST_CHECK Error *infer_lists_get_field(ProbeContext *context, const IrBinding *binding);
