#pragma once
/* Matrix multiplication in float32: C = activation(alpha * A B + bias_scale * bias + residual),
 * batched, over plain or packed B. Called by the kernels of products, convolutions, attention and
 * recurrent networks, on the threads of a launch. Pure: a CpuMatmul belongs to its plan.
 *
 * Every element of A B is one chain of multiply-adds in the order of k, started from zero: the bits
 * depend only on the element's row of A and column of B. They do not depend on tiling, packing,
 * threads or the other rows of a batch, and are equal for the vector widths of AVX2 and AVX-512. */
#include <stdatomic.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"
#include "kernels/tensor/shape.h"

enum {
    CPU_MATMUL_PANEL = 64,      /* columns */
    CPU_MATMUL_STRIP = 16,      /* likewise */
    CPU_MATMUL_ROWS_MAX = 144,  /* of a tile: 36 KiB on the stack */
    CPU_MATMUL_DEPTH_MAX = 256, /* of k at a time */
};

/* The end of a tile's sums as they leave the registers: to = relu(sums + bias + residual), in that
 * order. */
typedef struct CpuTileFinish {
    const float *bias;     /* of each column; NULL: none */
    const float *residual; /* with the layout of `to`, and may be it; NULL: none */
    bool relu;
    float *to;
    int64_t to_row;
} CpuTileFinish;

/* out[rows][columns] (+)= a[rows][depth] b[depth][columns]; strides in elements. */
typedef struct CpuMatmulTile {
    int64_t rows, columns, depth; /* columns: 1 … CPU_MATMUL_PANEL */
    const float *a;
    int64_t a_row, a_column;
    const int64_t *a_rows; /* instead of a_row: the beginning of each row; NULL with AVX-512 */
    const float *b;        /* sixteen columns are adjacent */
    int64_t b_row;
    int64_t b_strip;     /* from sixteen columns to the next; 16 if all are adjacent, as always
                          * with AVX-512 */
    const float *b_next; /* the operand of the next tile, NULL if not known: fetched ahead, never
                          * read here */
    float *out;
    int64_t out_row;
    bool accumulate; /* add to the values in out */
    /* Replaces storing the sums in out, which may hold intermediate sums. NULL: none; always for
     * code that does not finish. */
    const CpuTileFinish *finish;
} CpuMatmulTile;

static inline const float *cpu_matmul_tile_row(const CpuMatmulTile *tile, int64_t row) {
    return tile->a + (tile->a_rows ? tile->a_rows[row] : row * tile->a_row);
}

typedef void CpuMatmulMicro(const CpuMatmulTile *tile);
void cpu_matmul_micro_portable(const CpuMatmulTile *tile);
void cpu_matmul_micro_avx2(const CpuMatmulTile *tile);
void cpu_matmul_micro_avx512(const CpuMatmulTile *tile);

/* One or two whole panels, one behind the other. */
typedef struct CpuRowPanels {
    int count;
    bool near; /* the third level cache holds them (cpu_sweep.h) */
    float *out;
} CpuRowPanels;

/* panels->out[count * CPU_MATMUL_PANEL] = a[depth] times the panels from b on. The speed of one row
 * is that of its weights: from memory two streams of them come faster than one, from a near cache
 * one stream that is fetched ahead does (4 MiB of them: 41 µs, 33 ahead; 32 MiB: 383, 525 ahead).
 * a_column in elements. */
typedef void CpuMatmulRow(
    const float *a, int64_t a_column, const float *b, int64_t depth, const CpuRowPanels *panels);
void cpu_matmul_row_avx512(
    const float *a, int64_t a_column, const float *b, int64_t depth, const CpuRowPanels *panels);

enum { CPU_WOVEN_DEPTH = 32 };

/* Rows of another product, CPU_WOVEN_DEPTH of its k. */
typedef struct CpuWovenRows {
    int64_t count;
    const float *a; /* adjacent factors of the first row */
    int64_t a_row;
    const float *b;    /* [CPU_WOVEN_DEPTH][CPU_MATMUL_PANEL] */
    const float *bias; /* of each column, added after the last k; NULL: none */
    float *out;        /* [CPU_MATMUL_PANEL] of the first row */
    int64_t out_row;
    bool accumulate; /* add to the values in out */
} CpuWovenRows;

/* out[CPU_MATMUL_PANEL] = a[depth] times the panel b. The same loop computes the other rows, since
 * fetching the panel from a near cache leaves the multipliers idle. (Panels of 4 MiB: 30 µs alone,
 * 35 µs with as many products woven in, 38 µs for both one after the other.) */
typedef void CpuMatmulWoven(
    const float *a, const float *b, int64_t depth, float *out, const CpuWovenRows *rows);
void cpu_matmul_woven_avx512(
    const float *a, const float *b, int64_t depth, float *out, const CpuWovenRows *rows);

/* The code that a level of the instruction set multiplies with, and its sizes. */
typedef struct CpuMatmulCode {
    CpuMatmulMicro *micro;
    CpuMatmulRow *row;     /* NULL: a panel at a time */
    CpuMatmulWoven *woven; /* NULL: one product at a time */
    int64_t rows;          /* of a tile; at most CPU_MATMUL_ROWS_MAX */
    int64_t depth;         /* of k at a time, so that a panel's part fits a cache */
    bool in_strips;        /* the layout of panels */
    bool takes_rows;       /* CpuMatmulTile.a_rows */
    bool finishes;         /* CpuMatmulTile.finish */
} CpuMatmulCode;
CpuMatmulCode cpu_matmul_code_for(CpuLevel level);

/* The layout of packed B: panels [N / 64] of up to 64 columns, the last one narrower (a multiple of
 * 16), filled up with zeros. A panel is [K][width], or in strips [width / 16][K][16]: a first level
 * cache holds four times as much depth of strips, since their lines are not 256 bytes apart. row:
 * floats from one k to the next. strip: from 16 columns to the next. */
typedef struct CpuPanelSteps {
    int64_t row, strip;
} CpuPanelSteps;
/* width: cpu_matmul_panel_width. */
static inline CpuPanelSteps cpu_matmul_panel_steps(
    const CpuMatmulCode *code, int64_t depth, int64_t width) {
    if (code->in_strips) return (CpuPanelSteps){CPU_MATMUL_STRIP, CPU_MATMUL_STRIP * depth};
    return (CpuPanelSteps){width, CPU_MATMUL_STRIP};
}
/* The width that a panel is stored with, if `left` columns remain from its first one on. */
static inline int64_t cpu_matmul_panel_width(int64_t left) {
    if (left >= CPU_MATMUL_PANEL) return CPU_MATMUL_PANEL;
    return (left + CPU_MATMUL_STRIP - 1) / CPU_MATMUL_STRIP * CPU_MATMUL_STRIP;
}
/* The offset of one of a panel's columns. */
static inline int64_t cpu_matmul_panel_offset(CpuPanelSteps steps, int64_t column) {
    return column / CPU_MATMUL_STRIP * steps.strip + column % CPU_MATMUL_STRIP;
}

/* The plan's part: sizes and strides (in elements) of everything. C is compact. */
typedef struct CpuMatmul {
    int64_t rows, columns, depth; /* M, N, K */
    int64_t a_row, a_column, b_row, b_column;
    bool b_packed;     /* panels of the level's; b_row and b_column are then unused */
    bool b_pack_first; /* every launch packs plain B into scratch */
    bool narrow;       /* cpu_matmul_run_narrow runs it, which reads plain B in place */
    bool has_bias, has_residual;
    Shape batch; /* the batch dimensions of C */
    int64_t batch_count;
    int64_t a_batch[SHAPE_RANK_MAX], b_batch[SHAPE_RANK_MAX], bias_batch[SHAPE_RANK_MAX];
    int64_t b_matrix_count; /* distinct matrices in B, when b_pack_first */
    int64_t bias_row, bias_column;
    CpuEpilogue epilogue;
    CpuMatmulCode code;
    CpuEpilogueRow *epilogue_row;
    CpuEpilogueRowsRun *epilogue_rows;
} CpuMatmul;

/* Where a batch's matrix begins in an operand with these strides. */
static inline int64_t cpu_matmul_batch_offset(
    const Shape *batch, int64_t index, const int64_t strides[SHAPE_RANK_MAX]) {
    int64_t offset = 0;
    for (uint32_t i = batch->rank; i-- > 0; index /= batch->dims[i])
        offset += index % batch->dims[i] * strides[i];
    return offset;
}

typedef struct CpuMatmulBuffers {
    const float *a, *b, *bias, *residual;
    float *c;
    float *scratch; /* cpu_matmul_scratch_count floats; aligned to 64 bytes */
} CpuMatmulBuffers;

/* Chooses the code and whether B is packed first; called when all other members are set. */
void cpu_matmul_prepare(CpuMatmul *matmul, CpuLevel level);
/* Floats of scratch a run needs. */
int64_t cpu_matmul_scratch_count(const CpuMatmul *matmul);
MUST_CHECK Error *cpu_matmul_run(CpuDevice *device, const CpuMatmul *matmul,
    const CpuMatmulBuffers *buffers, const Launch *launch);
/* Computes all rows of one panel's columns, on the calling thread. B is packed; one matrix. near: a
 * near cache holds B, if it holds all of it (cpu_sweep.h). */
void cpu_matmul_run_panel(
    const CpuMatmul *matmul, const CpuMatmulBuffers *buffers, int64_t panel, bool near);
/* The same of all columns, for products that take no longer than such preparations: B is packed;
 * one matrix, of no more rows than a tile has, without bias, residual and epilogue. */
void cpu_matmul_run_small(const CpuMatmul *matmul, const CpuMatmulBuffers *buffers);

/* Floats of a packed K × N matrix. */
int64_t cpu_matmul_packed_count(int64_t depth, int64_t columns);
/* Whether threads that share a product should each compute all columns of some rows, instead of
 * some columns of all rows: the next layer then finds the rows in the cache of the core that wrote
 * them. False if B is the larger operand, or does not fit a core's cache. */
bool cpu_matmul_shares_rows(uint32_t threads, int64_t rows, int64_t columns, int64_t depth);
/* Writes panel `panel` of B (strides in elements) at its place in `packed`. */
void cpu_matmul_pack_panel(const CpuMatmulCode *code, const float *b, int64_t b_row,
    int64_t b_column, int64_t depth, int64_t columns, int64_t panel, float *packed);
/* Writes all panels, on the calling thread. With depth 0 nothing is read or written. */
void cpu_matmul_pack(const CpuMatmulCode *code, const float *b, int64_t b_row, int64_t b_column,
    int64_t depth, int64_t columns, float *packed);
