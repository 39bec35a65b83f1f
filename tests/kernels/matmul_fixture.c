#include "tests/kernels/matmul_fixture.h"

CpuMatmul matmul_fixture_make(int64_t rows, int64_t columns, int64_t depth) {
    return (CpuMatmul){.rows = rows,
        .columns = columns,
        .depth = depth,
        .a_row = depth,
        .a_column = 1,
        .b_row = columns,
        .b_column = 1,
        .batch_count = 1,
        .epilogue = {.alpha = 1, .bias_scale = 1}};
}
