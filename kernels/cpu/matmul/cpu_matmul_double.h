#pragma once
/* Tiles of products of float64: blocks of rows × vectors of columns stay in registers over a part
 * of the depth. cpu_matmul_double.c cuts products into tiles and calls this on the threads of a
 * launch. Pure: no state.
 *
 * Every element is one chain of fused multiply-adds in the order of k, started from zero: the bits
 * depend only on the element's row of A and column of B. */
#include <stdbool.h>
#include <stdint.h>

enum {
    CPU_DOUBLE_PANEL = 16,  /* columns of a tile at most */
    CPU_DOUBLE_VECTOR = 4,  /* columns of a vector */
    CPU_DOUBLE_ROWS = 72,   /* of a tile at most: 9 KiB of sums on the stack */
    CPU_DOUBLE_DEPTH = 256, /* of k at a time: a panel's part is 32 KiB */
};

/* sums[rows][CPU_DOUBLE_PANEL] (+)= a[rows][depth] b[depth][columns]; steps in elements. Columns up
 * to the next multiple of CPU_DOUBLE_VECTOR are read from b and written to sums. */
typedef struct CpuDoubleTile {
    int64_t rows, columns, depth;
    const double *a;
    int64_t a_row, a_column;
    const double *b; /* the columns are adjacent */
    int64_t b_row;
    double *sums;
    bool accumulate; /* add to the values in sums */
    /* Where relu(sums + bias) goes instead, exactly `columns` of each row; NULL: nowhere. */
    double *to;
    int64_t to_row;
    const double *bias; /* of each column, as many as are read from b; zeros stand for none */
    bool relu;
} CpuDoubleTile;

/* At the levels AVX2 and AVX-512. */
void cpu_matmul_double_tile(const CpuDoubleTile *tile);
/* out[i] = a[i][depth] b[depth] for up to CPU_DOUBLE_COLUMN_ROWS rows and one column; depth is a
 * part, and out[i] is added to if `accumulate`. */
enum { CPU_DOUBLE_COLUMN_ROWS = 8 };
typedef struct CpuDoubleColumn {
    int64_t rows, depth;
    const double *a;
    int64_t a_row, a_column;
    const double *b;
    int64_t b_row;
    bool accumulate;
} CpuDoubleColumn;
void cpu_matmul_double_column(const CpuDoubleColumn *column, double *out);
