/* Cuts a product of few columns into groups of rows. */
#include "kernels/cpu/matmul/cpu_matmul_narrow.h"

enum { UNIT_ROWS = 512, PART_STEPS = 32768 };

typedef struct Run {
    const CpuMatmul *matmul;
    const CpuMatmulBuffers *buffers;
    int64_t chunks; /* of rows, in each matrix */
} Run;

bool cpu_matmul_is_narrow(const CpuMatmul *matmul, CpuLevel level) {
    return level != CPU_LEVEL_PORTABLE && matmul->columns > 0 &&
           matmul->columns <= CPU_NARROW_COLUMNS_MAX && matmul->rows >= CPU_NARROW_ROWS_MIN &&
           matmul->depth <= CPU_NARROW_DEPTH_MAX && matmul->a_column == 1 &&
           !matmul->has_residual && cpu_epilogue_is_linear(&matmul->epilogue) &&
           (!matmul->has_bias || matmul->bias_row == 0);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const CpuMatmul *matmul = run->matmul;
    const CpuMatmulBuffers *buffers = run->buffers;
    const int64_t width = cpu_matmul_panel_width(matmul->columns);
    const CpuPanelSteps steps = cpu_matmul_panel_steps(&matmul->code, matmul->depth, width);
    CpuNarrow narrow = {
        .columns = matmul->columns,
        .depth = matmul->depth,
        .a_row = matmul->a_row,
        .b_row = matmul->b_packed ? steps.row : matmul->b_row,
        .b_column = matmul->b_packed ? 1 : matmul->b_column,
        .bias_column = matmul->bias_column,
        .relu = matmul->epilogue.activation == ACTIVATION_RELU,
    };
    (void)part;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const Shape *batch = &matmul->batch;
        const int64_t matrix = i / run->chunks, row = i % run->chunks * UNIT_ROWS;
        const int64_t left = matmul->rows - row;
        TRY(kernel_stop_check());
        narrow.rows = left < UNIT_ROWS ? left : UNIT_ROWS;
        narrow.a = buffers->a + cpu_matmul_batch_offset(batch, matrix, matmul->a_batch) +
                   row * matmul->a_row;
        narrow.b = buffers->b + cpu_matmul_batch_offset(batch, matrix, matmul->b_batch);
        if (matmul->has_bias)
            narrow.bias =
                buffers->bias + cpu_matmul_batch_offset(batch, matrix, matmul->bias_batch);
        narrow.to = buffers->c + (matrix * matmul->rows + row) * matmul->columns;
        cpu_matmul_narrow(&narrow);
    }
    return NULL;
}

Error *cpu_matmul_run_narrow(CpuDevice *device, const CpuMatmul *matmul,
    const CpuMatmulBuffers *buffers, const Launch *launch) {
    if (matmul->batch_count == 0) return NULL;
    static const float nothing = 0; /* stands for matrices of depth 0, which have no address */
    CpuMatmulBuffers given = *buffers;
    if (matmul->depth == 0) given.a = given.b = &nothing;
    Run run = {matmul, &given, (matmul->rows + UNIT_ROWS - 1) / UNIT_ROWS};
    return cpu_for_each(device, launch->threads, (uint64_t)(matmul->batch_count * run.chunks),
        (uint64_t)(PART_STEPS / (matmul->depth * UNIT_ROWS + 1)) + 1, run_units, &run);
}
