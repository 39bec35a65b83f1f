#pragma once
/* How MatMul, Gemm and FusedMatMul read their operands: shared by the kernels of all element types
 * and by packing. */
#include "kernels/cpu/cpu_internal.h"
#include "kernels/cpu/cpu_matmul_kernel.h"

/* Fills sizes, strides, batch and epilogue of a request of one of the three operators, and which
 * inputs are bias and residual (UINT32_MAX: none). Code pointers are left to cpu_matmul_prepare.
 * Batches that B, bias and residual allow it for are folded into rows. */
typedef struct CpuMatmulOperands {
    CpuMatmul matmul;
    uint32_t bias_index, residual_index;
} CpuMatmulOperands;

MUST_CHECK Error *cpu_matmul_operands(const PlanRequest *request, CpuMatmulOperands *out);
/* Whether B is read transposed. */
bool cpu_matmul_is_transposed(
    const OperatorInfo *operator_info, const Attributes *attributes, uint32_t input_index);
