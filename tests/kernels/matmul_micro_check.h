#pragma once
/* Checks an inner kernel of matrix multiplication: every element is one chain of fused
 * multiply-adds, and nothing beside the tile is touched. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

/* takes_forms: B in strips and rows of A from anywhere, too. */
void matmul_micro_check(CpuMatmulMicro *micro, bool takes_forms);
/* The same of CpuMatmulTile.finish. */
void matmul_micro_check_finish(CpuMatmulMicro *micro);
