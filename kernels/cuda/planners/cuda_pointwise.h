#pragma once
/* Pointwise programs as parameters of kernels, for those who plan them. */
#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "kernels/cuda/planners/cuda_internal.h"

/* All but the addresses. False: the program cannot be lowered, or there is more of something than
 * the parameters have room for. */
bool cuda_pointwise_fill(
    const PlanRequest *request, const CpuPointwise *program, CudaPointwiseParams *out);
/* Threads that the operands keep busy. */
uint64_t cuda_pointwise_units(const CudaPointwiseOperands *operands);
/* Puts a launch's addresses in. */
void cuda_pointwise_address(const Launch *launch, CudaPointwiseOperands *inout);
