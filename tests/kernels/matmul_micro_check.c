#include "tests/kernels/matmul_micro_check.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/kernel_call.h"

enum { ROWS_MAX = 19, DEPTH = 5, DEEP = 70, WIDE = 70 };

/* b ends with its last column: an over-read is one of memory that is not there. */
static void check_tile(CpuMatmulMicro *micro, int64_t rows, int64_t columns, int64_t depth,
    bool accumulate, bool by_columns) {
    float *a = kernel_random_floats(1, ROWS_MAX * depth);
    const int64_t b_count = (depth - 1) * WIDE + columns;
    float *b = kernel_random_floats(2, b_count);
    float *start = kernel_random_floats(3, ROWS_MAX * WIDE), out[ROWS_MAX * WIDE];
    memcpy(out, start, sizeof out);
    const CpuMatmulTile tile = {.rows = rows,
        .columns = columns,
        .depth = depth,
        .a = a,
        .a_row = by_columns ? 1 : depth,
        .a_column = by_columns ? ROWS_MAX : 1,
        .b = b,
        .b_row = WIDE,
        .out = out,
        .out_row = WIDE,
        .accumulate = accumulate};
    micro(&tile);
    for (int64_t i = 0; i < ROWS_MAX * WIDE; i++) {
        const int64_t row = i / WIDE, column = i % WIDE;
        float expected = start[i];
        if (row < rows && column < columns) {
            if (!accumulate) expected = 0;
            for (int64_t k = 0; k < depth; k++)
                expected =
                    fmaf(a[row * tile.a_row + k * tile.a_column], b[k * WIDE + column], expected);
        }
        assert_true(out[i] == expected);
    }
    free(a);
    free(b);
    free(start);
}

void matmul_micro_check(CpuMatmulMicro *micro) {
    for (int64_t rows = 1; rows <= ROWS_MAX; rows++)
        for (int64_t columns = 1; columns <= CPU_MATMUL_PANEL; columns += columns % 16 ? 1 : 5)
            check_tile(micro, rows, columns, rows % 6 == 1 && columns % 3 == 0 ? DEEP : DEPTH,
                (rows + columns) % 2, (rows + columns) % 3 == 0);
}
