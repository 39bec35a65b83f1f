/* Products that take no longer than the preparations of cpu_matmul_run would. */
#include <assert.h>

#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

/* The tile's columns of one panel, by parts of the depth; once for depth 0, too. */
static void run_tile(const CpuMatmul *matmul, CpuMatmulTile *tile, const float *a, const float *b) {
    int64_t k = 0;
    do {
        const int64_t left = matmul->depth - k;
        tile->depth = left < matmul->code.depth ? left : matmul->code.depth;
        tile->a = a + k * matmul->a_column;
        tile->b = b + k * tile->b_row;
        tile->accumulate = k > 0;
        matmul->code.micro(tile);
    } while ((k += matmul->code.depth) < matmul->depth);
}

void cpu_matmul_run_small(const CpuMatmul *matmul, const CpuMatmulBuffers *buffers) {
    assert(matmul->b_packed && matmul->batch_count == 1 && matmul->rows <= matmul->code.rows);
    assert(!matmul->has_bias && !matmul->has_residual && cpu_epilogue_is_plain(&matmul->epilogue));
    const CpuMatmulCode *code = &matmul->code;
    CpuMatmulTile tile = {.rows = matmul->rows,
        .a_row = matmul->a_row,
        .a_column = matmul->a_column,
        .out_row = matmul->columns};
    for (int64_t column = 0; column < matmul->columns; column += CPU_MATMUL_PANEL) {
        const int64_t left = matmul->columns - column;
        const int64_t width = cpu_matmul_panel_width(left);
        const CpuPanelSteps steps = cpu_matmul_panel_steps(code, matmul->depth, width);
        const float *b = buffers->b + column * matmul->depth;
        tile.out = buffers->c + column;
        if (matmul->rows == 1 && code->row && left >= CPU_MATMUL_PANEL) {
            const CpuRowPanels panels = {.count = 1, .near = true, .out = tile.out};
            code->row(buffers->a, matmul->a_column, b, matmul->depth, &panels);
            continue;
        }
        tile.columns = left < CPU_MATMUL_PANEL ? left : CPU_MATMUL_PANEL;
        tile.b_row = steps.row;
        tile.b_strip = steps.strip;
        run_tile(matmul, &tile, buffers->a, b);
    }
}
