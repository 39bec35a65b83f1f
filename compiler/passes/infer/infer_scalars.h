#pragma once
/* Shape inference of scalars: reading shapes, computing integers, making tensors of them. Caller:
 * infer_shapes.c. Threads: one at a time per context. */
#include "compiler/passes/probe.h"

MUST_CHECK Error *infer_scalars_shape_of(ProbeContext *context, const IrBinding *binding);
MUST_CHECK Error *infer_scalars_read_scalar(ProbeContext *context, const IrBinding *binding);
MUST_CHECK Error *infer_scalars_int_op(ProbeContext *context, const IrBinding *binding);
MUST_CHECK Error *infer_scalars_make_tensor(ProbeContext *context, const IrBinding *binding);
