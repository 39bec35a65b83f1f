#pragma once
/* How MatMul, Gemm and FusedMatMul read their operands: shared by the kernels of all element types
 * and by packing. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

/* Sizes, strides, batch and epilogue of a request of one of the three operators; bias is input 2,
 * residual input 3. Code pointers are left to cpu_matmul_prepare. Batches are folded into rows
 * where A, B and bias allow it. dtype: in which it is computed, float32 or float64. */
MUST_CHECK Error *cpu_matmul_operands(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuMatmul *out);
/* Whether B is read transposed. */
bool cpu_matmul_is_transposed(
    const OperatorInfo *operator_info, const Attributes *attributes, uint32_t input_index);
