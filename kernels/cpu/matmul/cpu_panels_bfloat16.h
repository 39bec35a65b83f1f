#pragma once
/* A matrix K × N of bfloat16, N a multiple of CPU_MATMUL_PANEL, whose products with a few float32
 * rows are those of the same matrix in float32, with the same bits: it is widened on the way. What
 * counts is that half as much is read.
 *
 * Panels [N / 64] of [K][2][16][2]: column 32 g + 16 h + i of a panel is at [g][i][h], so that one
 * vector of words is two of columns, with a shift and with a mask. The same at every level. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

/* from: [N][K], as a recurrent network's R lies. to: K * N elements. */
void cpu_panels_bfloat16_pack(const uint16_t *from, int64_t depth, int64_t columns, uint16_t *to);
/* As the level's panels of float32: cpu_matmul_packed_count floats. */
void cpu_panels_bfloat16_widen(const CpuMatmulCode *code, CpuLevel level, const uint16_t *from,
    int64_t depth, int64_t columns, float *to);
typedef struct CpuBfloat16Panels {
    const uint16_t *b; /* all of the matrix's */
    int64_t first, count;
    bool backwards; /* the last of them is read first */
} CpuBfloat16Panels;

/* The columns of C that these panels make: c = a b, what follows the product aside. */
void cpu_panels_bfloat16_run(const CpuMatmul *matmul, CpuLevel level, const float *a,
    const CpuBfloat16Panels *panels, float *c);
