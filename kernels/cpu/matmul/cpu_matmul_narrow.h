#pragma once
/* Products of many rows and few columns, such as the scores of a linear model: lanes of a vector
 * are rows, since columns would leave most of them empty. Called by cpu_matmul.c when it plans
 * and runs a product. Pure: no state. The chains are those of cpu_matmul_kernel.h. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

enum {
    CPU_NARROW_COLUMNS_MAX = 7, /* a vector of eight columns is as fast */
    CPU_NARROW_ROWS_MIN = 8,
    CPU_NARROW_DEPTH_MAX = 4096, /* a few rows take some ten microseconds between two looks */
};

/* to[rows][columns] = relu(a[rows][depth] b[depth][columns] + bias[columns]); steps in elements. */
typedef struct CpuNarrow {
    int64_t rows, columns, depth; /* columns: 1 … CPU_NARROW_COLUMNS_MAX */
    const float *a;
    int64_t a_row;
    const float *b;
    int64_t b_row, b_column;
    const float *bias; /* NULL: none */
    int64_t bias_column;
    bool relu;
    float *to;
} CpuNarrow;

/* At the levels AVX2 and AVX-512. */
void cpu_matmul_narrow(const CpuNarrow *narrow);

/* Whether a product is computed so. Called before cpu_matmul_prepare. */
bool cpu_matmul_is_narrow(const CpuMatmul *matmul, CpuLevel level);
/* Runs such a product. B is plain, or packed in panels. */
MUST_CHECK Error *cpu_matmul_run_narrow(CpuDevice *device, const CpuMatmul *matmul,
    const CpuMatmulBuffers *buffers, const Launch *launch);
