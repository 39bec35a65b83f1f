#pragma once
/* Reads the operands of MatMul, Gemm and FusedMatMul. Called by the kernels of all element types
 * and by cpu_pack.c when they plan or pack, and by the CUDA planners. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

/* Sizes, strides, batch and epilogue of a request of one of the three operators; bias is input 2,
 * residual input 3. cpu_matmul_prepare sets the code pointers. Batches are folded into rows if A, B
 * and bias allow it. dtype: float32 or float64, the type of the computation. */
MUST_CHECK Error *cpu_matmul_operands(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuMatmul *out);
/* Whether B is read transposed. */
bool cpu_matmul_is_transposed(
    const OperatorInfo *operator_info, const Attributes *attributes, uint32_t input_index);
