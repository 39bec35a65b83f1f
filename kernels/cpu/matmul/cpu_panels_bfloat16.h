#pragma once
/* A matrix K × N of bfloat16, N a multiple of CPU_MATMUL_PANEL. The matrix is widened while it is
 * read, so its products with a few float32 rows have the same bits as those of the same matrix in
 * float32. The gain is that half as many bytes are read. Called by cpu_pack.c and
 * cpu_recurrent_run.c. Pure: no state.
 *
 * Panels [N / 64] of [K][2][16][2]: column 32 g + 16 h + i of a panel is at [g][i][h], so that one
 * vector of words is two of columns, with a shift and with a mask. The same at every level. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

/* from: [N][K], the layout of a recurrent network's R. to: K * N elements. */
void cpu_panels_bfloat16_pack(const uint16_t *from, int64_t depth, int64_t columns, uint16_t *to);
/* Writes the matrix as the level's panels of float32: cpu_matmul_packed_count floats. */
void cpu_panels_bfloat16_widen(const CpuMatmulCode *code, CpuLevel level, const uint16_t *from,
    int64_t depth, int64_t columns, float *to);
typedef struct CpuBfloat16Panels {
    const uint16_t *b; /* all of the matrix's */
    int64_t first, count;
    bool backwards; /* the last panel is read first */
} CpuBfloat16Panels;

/* Computes the columns of C of these panels: c = a b, without an epilogue. */
void cpu_panels_bfloat16_run(const CpuMatmul *matmul, CpuLevel level, const float *a,
    const CpuBfloat16Panels *panels, float *c);
