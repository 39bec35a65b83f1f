#pragma once
/* C = A B of compact matrices, for a test to change and then to prepare. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

CpuMatmul matmul_fixture_make(int64_t rows, int64_t columns, int64_t depth);
