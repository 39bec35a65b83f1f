#include "tests/kernels/matmul_micro_check.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/kernel_call.h"

enum { ROWS_MAX = 19, DEPTH = 5, DEEP = 300, WIDE = 70 };

static int64_t b_offset(const CpuMatmulTile *tile, int64_t k, int64_t column) {
    return k * tile->b_row + column / CPU_MATMUL_STRIP * tile->b_strip + column % CPU_MATMUL_STRIP;
}

static int64_t depth_of(int64_t rows, int64_t columns) {
    return rows % 6 == 1 && columns % 3 == 0 ? DEEP : DEPTH;
}

/* b ends with its last column: an over-read is one of memory that is not there. */
static void check_tile(CpuMatmulMicro *micro, int64_t rows, int64_t columns, int64_t depth,
    bool accumulate, bool by_columns, bool in_strips, bool by_rows) {
    float *a = kernel_random_floats(1, ROWS_MAX * depth);
    int64_t a_rows[ROWS_MAX]; /* from the last to the first */
    for (int64_t i = 0; i < rows; i++) a_rows[i] = (rows - 1 - i) * (by_columns ? 1 : depth);
    float *start = kernel_random_floats(3, ROWS_MAX * WIDE), out[ROWS_MAX * WIDE];
    memcpy(out, start, sizeof out);
    CpuMatmulTile tile = {.rows = rows,
        .columns = columns,
        .depth = depth,
        .a = a,
        .a_row = by_columns ? 1 : depth,
        .a_column = by_columns ? ROWS_MAX : 1,
        .a_rows = by_rows ? a_rows : NULL,
        .b_row = in_strips ? CPU_MATMUL_STRIP : WIDE,
        .b_strip = in_strips ? CPU_MATMUL_STRIP * depth : CPU_MATMUL_STRIP,
        .out = out,
        .out_row = WIDE,
        .accumulate = accumulate};
    float *b = kernel_random_floats(2, b_offset(&tile, depth - 1, columns - 1) + 1);
    tile.b = b;
    tile.b_next = in_strips ? b : NULL;
    micro(&tile);
    for (int64_t i = 0; i < ROWS_MAX * WIDE; i++) {
        const int64_t row = i / WIDE, column = i % WIDE;
        float expected = start[i];
        if (row < rows && column < columns) {
            if (!accumulate) expected = 0;
            for (int64_t k = 0; k < depth; k++)
                expected = fmaf(a[(by_rows ? a_rows[row] : row * tile.a_row) + k * tile.a_column],
                    b[b_offset(&tile, k, column)], expected);
        }
        assert_true(out[i] == expected);
    }
    free(a);
    free(b);
    free(start);
}

void matmul_micro_check(CpuMatmulMicro *micro, bool takes_forms) {
    for (int64_t rows = 1; rows <= ROWS_MAX; rows++)
        for (int64_t columns = 1; columns <= CPU_MATMUL_PANEL; columns += columns % 16 ? 1 : 5)
            for (int form = 0; form < (takes_forms ? 4 : 1); form++)
                check_tile(micro, rows, columns, depth_of(rows, columns), (rows + columns) % 2,
                    (rows + columns) % 3 == 0, form % 2, form / 2);
}

typedef struct FinishForm {
    bool accumulate, bias, residual, in_place, relu;
} FinishForm;

static float finished(float x, const CpuTileFinish *finish, float residual, int64_t column) {
    if (finish->bias) x += finish->bias[column];
    if (finish->residual) x += residual;
    return finish->relu && x < 0 ? 0 : x;
}

/* Against the same tile without it. */
static void check_finish(
    CpuMatmulMicro *micro, int64_t rows, int64_t columns, const FinishForm *form) {
    const int64_t depth = depth_of(rows, columns);
    float *a = kernel_random_floats(1, ROWS_MAX * depth);
    float *b = kernel_random_floats(2, depth * WIDE);
    float *start = kernel_random_floats(3, ROWS_MAX * WIDE);
    float *bias = kernel_random_floats(4, columns);
    float *residual = kernel_random_floats(5, ROWS_MAX * WIDE);
    float sums[ROWS_MAX * WIDE], left[ROWS_MAX * WIDE], to[ROWS_MAX * WIDE];
    memcpy(sums, start, sizeof sums);
    memcpy(left, start, sizeof left);
    memcpy(to, residual, sizeof to);
    CpuMatmulTile tile = {.rows = rows,
        .columns = columns,
        .depth = depth,
        .a = a,
        .a_row = depth,
        .a_column = 1,
        .b = b,
        .b_row = WIDE,
        .b_strip = CPU_MATMUL_STRIP,
        .out = sums,
        .out_row = WIDE,
        .accumulate = form->accumulate};
    micro(&tile);
    const CpuTileFinish finish = {.bias = form->bias ? bias : NULL,
        .residual = !form->residual  ? NULL
                    : form->in_place ? to
                                     : residual,
        .relu = form->relu,
        .to = to,
        .to_row = WIDE};
    tile.out = left;
    tile.finish = &finish;
    micro(&tile);
    for (int64_t i = 0; i < ROWS_MAX * WIDE; i++) {
        const bool inside = i / WIDE < rows && i % WIDE < columns;
        float expected = residual[i];
        assert_true(inside || left[i] == start[i]);
        if (inside) expected = finished(sums[i], &finish, residual[i], i % WIDE);
        assert_true(to[i] == expected);
    }
    free(a);
    free(b);
    free(start);
    free(bias);
    free(residual);
}

void matmul_micro_check_finish(CpuMatmulMicro *micro) {
    for (int64_t rows = 1; rows <= ROWS_MAX; rows++)
        for (int64_t columns = 1; columns <= CPU_MATMUL_PANEL; columns += columns % 16 ? 1 : 5)
            for (int form = 0; form < 32; form++)
                check_finish(micro, rows, columns,
                    &(FinishForm){
                        form & 1, form >> 1 & 1, form >> 2 & 1, form >> 3 & 1, form >> 4});
}
