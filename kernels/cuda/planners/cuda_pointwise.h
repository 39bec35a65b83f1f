#pragma once
/* Pointwise programs as parameters of kernels, for the planners that interpret or compile them
 * (cuda_compiled.c). Pure: no state. */
#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "kernels/cuda/planners/cuda_internal.h"

/* Fills all parameters but the addresses. False: the program cannot be lowered, or exceeds the room
 * of the parameters. */
bool cuda_pointwise_fill(
    const PlanRequest *request, const CpuPointwise *program, CudaPointwiseParams *out);
/* How many threads the operands keep busy. */
uint64_t cuda_pointwise_units(const CudaPointwiseOperands *operands);
/* Sets a launch's addresses. */
void cuda_pointwise_address(const Launch *launch, CudaPointwiseOperands *inout);
