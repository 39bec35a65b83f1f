#pragma once
/* Writes a pointwise program as the source of a kernel of its own, over
 * kernels/cuda/device/device_group.h. Called by cuda_compiled.c when it plans. Pure: no state.
 *
 * The text has the steps and the layout of each input; sizes, addresses and numbers stay
 * parameters. Programs that differ only in those have the same text, and so one kernel. */
#include "base/text.h"
#include "kernels/cuda/planners/cuda_params.h"

/* KERNEL(name, CudaPointwiseOperands); no headers, so that one text can have several. */
void cuda_pointwise_source_write(
    const char *name, const CudaPointwiseParams *params, TextBuilder *out);
