#pragma once
/* Matrix products for other operators, and the epilogue on their sums. Called by cuda_conv.c,
 * cuda_lstm.c and cuda_cudnn_conv.c. Pure: no state. */
#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"
#include "kernels/cuda/planners/cuda_internal.h"

/* The epilogue's parameters without the addresses of bias and residual. */
CudaEpilogue cuda_epilogue_of(const CpuEpilogue *epilogue);
/* Starts the kernel for those sizes and that element type; params: with addresses. */
MUST_CHECK Error *cuda_matmul_run(
    const Plan *plan, const Launch *launch, const CudaMatmulParams *params);
