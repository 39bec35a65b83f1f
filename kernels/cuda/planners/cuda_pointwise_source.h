#pragma once
/* A pointwise program as the source of a kernel of its own, over
 * kernels/cuda/device/device_group.h.
 *
 * The text says what the steps are and how each input lies in memory; sizes, addresses and numbers
 * stay parameters. Programs that differ in those alone have the same text, and so one kernel. */
#include "base/text.h"
#include "kernels/cuda/planners/cuda_params.h"

/* KERNEL(name, CudaPointwiseOperands); no headers, so that several can stand in one text. */
void cuda_pointwise_source_write(
    const char *name, const CudaPointwiseParams *params, TextBuilder *out);
