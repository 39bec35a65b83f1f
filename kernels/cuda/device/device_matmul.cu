/* Matrix products by square tiles in shared memory: each thread adds up a small square of C in
 * registers, in the order of k. */
#include "kernels/cuda/device/device_epilogue.h"

enum {
    SIDE = CUDA_MATMUL_TILE,
    DEPTH = CUDA_MATMUL_DEPTH,
    GRID_SIDE = 16,         /* threads along a side of the tile */
    OWN = SIDE / GRID_SIDE, /* elements of C along a side of a thread's square */
    PITCH = SIDE + 1        /* so that the elements of a column of A are in different banks */
};

/* Integers wrap; narrow integers are cut when they are stored. */
DEVICE uint64_t element_to_u64(uint32_t dtype, uint64_t bits) { return element_widen(dtype, bits); }
DEVICE uint64_t epilogue_u64(
    const CudaEpilogue *e, uint32_t dtype, uint64_t sum, int64_t bias, int64_t residual) {
    uint64_t x = sum * (uint64_t)(int64_t)e->alpha;
    (void)residual;
    if (e->bias)
        x += element_load(e->bias, element_size(dtype), bias) * (uint64_t)(int64_t)e->bias_scale;
    return x;
}

#define MATMUL_OF(T, s)                                                                            \
    DEVICE void matmul_load_##s(const CudaMatmulParams *p, int64_t a_base, int64_t b_base,         \
        int64_t row, int64_t column, int64_t k, uint32_t t, T *a, T *b) {                          \
        const uint32_t size = element_size(p->dtype);                                              \
        for (uint32_t i = t; i < SIDE * DEPTH; i += CUDA_THREADS) {                                \
            /* neighbouring threads read along the contiguous side */                              \
            const int by_row = p->a_column != 1, by_column = p->b_column == 1;                     \
            const uint32_t ar = by_row ? i % SIDE : i / DEPTH, ak = by_row ? i / SIDE : i % DEPTH; \
            const uint32_t bc = by_column ? i % SIDE : i / DEPTH;                                  \
            const uint32_t bk = by_column ? i / SIDE : i % DEPTH;                                  \
            T x = 0, y = 0;                                                                        \
            if (row + ar < p->rows && k + ak < p->depth)                                           \
                x = (T)element_to_##s(                                                             \
                    p->dtype, element_load(p->a, size,                                             \
                                  a_base + (row + ar) * p->a_row + (k + ak) * p->a_column));       \
            if (column + bc < p->columns && k + bk < p->depth)                                     \
                y = (T)element_to_##s(                                                             \
                    p->dtype, element_load(p->b, size,                                             \
                                  b_base + (k + bk) * p->b_row + (column + bc) * p->b_column));    \
            a[ak * PITCH + ar] = x;                                                                \
            b[bk * PITCH + bc] = y;                                                                \
        }                                                                                          \
    }                                                                                              \
    DEVICE void matmul_store_##s(                                                                  \
        const CudaMatmulParams *p, uint64_t batch, int64_t row, int64_t column, T sum) {           \
        if (row >= p->rows || column >= p->columns) return;                                        \
        const int64_t at = ((int64_t)batch * p->rows + row) * p->columns + column;                 \
        const int64_t bias =                                                                       \
            element_offset(batch, p->batches, p->batch_rank, p->batch_dims, p->bias_batch) +       \
            row * p->bias_row + column * p->bias_column;                                           \
        element_store(p->c, element_size(p->dtype), at,                                            \
            epilogue_##s(&p->epilogue, p->dtype, sum, bias, at));                                  \
    }                                                                                              \
    KERNEL(layover_matmul_##s, CudaMatmulParams) {                                                 \
        SHARED(T, a, DEPTH *PITCH);                                                                \
        SHARED(T, b, DEPTH *PITCH);                                                                \
        KEPT(T, sums, OWN *OWN);                                                                   \
        const uint64_t across = (uint64_t)(p.columns + SIDE - 1) / SIDE;                           \
        const uint64_t down = (uint64_t)(p.rows + SIDE - 1) / SIDE;                                \
        for (uint64_t unit = BLOCK; unit < p.batches * across * down; unit += BLOCKS) {            \
            const uint64_t batch = unit / (across * down);                                         \
            const int64_t row = (int64_t)(unit / across % down) * SIDE;                            \
            const int64_t column = (int64_t)(unit % across) * SIDE;                                \
            const int64_t a_base =                                                                 \
                element_offset(batch, p.batches, p.batch_rank, p.batch_dims, p.a_batch);           \
            const int64_t b_base =                                                                 \
                element_offset(batch, p.batches, p.batch_rank, p.batch_dims, p.b_batch);           \
            THREADS(t) {                                                                           \
                UNROLLED for (int i = 0; i < OWN; i++) UNROLLED for (int j = 0; j < OWN; j++)      \
                    sums[KEPT_OF(t)][i * OWN + j] = 0;                                             \
            }                                                                                      \
            for (int64_t k = 0; k < p.depth; k += DEPTH) {                                         \
                PHASE(t) { matmul_load_##s(&p, a_base, b_base, row, column, k, t, a, b); }         \
                PHASE(t) {                                                                         \
                    const uint32_t y = t / GRID_SIDE, x = t % GRID_SIDE;                           \
                    for (int d = 0; d < DEPTH; d++) {                                              \
                        UNROLLED for (int i = 0; i < OWN; i++) {                                   \
                            const T factor = a[d * PITCH + (int)y + i * GRID_SIDE];                \
                            UNROLLED for (int j = 0; j < OWN; j++)                                 \
                                sums[KEPT_OF(t)][i * OWN + j] +=                                   \
                                factor * b[d * PITCH + (int)x + j * GRID_SIDE];                    \
                        }                                                                          \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            THREADS(t) {                                                                           \
                const uint32_t y = t / GRID_SIDE, x = t % GRID_SIDE;                               \
                UNROLLED for (int i = 0; i < OWN; i++) UNROLLED for (int j = 0; j < OWN; j++)      \
                    matmul_store_##s(&p, batch, row + y + i * GRID_SIDE,                           \
                        column + x + j * GRID_SIDE, sums[KEPT_OF(t)][i * OWN + j]);                \
            }                                                                                      \
        }                                                                                          \
    }
MATMUL_OF(float, f32)
MATMUL_OF(double, f64)
MATMUL_OF(uint64_t, u64)

/* For few rows, which fill no tile. A block takes some columns of one row and cuts k into
 * interleaved slices, which are added in a fixed order. */
KERNEL(layover_matvec_f32, CudaMatmulParams) {
    SHARED(float, lanes, CUDA_THREADS);
    const int turned = p.b_column != 1;
    const uint32_t width = turned ? CUDA_MATVEC_WIDTH_TURNED : CUDA_MATVEC_WIDTH;
    const uint32_t slices = CUDA_THREADS / width, size = element_size(p.dtype);
    const uint64_t across = ((uint64_t)p.columns + width - 1) / width;
    for (uint64_t unit = BLOCK; unit < p.batches * (uint64_t)p.rows * across; unit += BLOCKS) {
        const uint64_t batch = unit / across / (uint64_t)p.rows;
        const int64_t row = (int64_t)(unit / across % (uint64_t)p.rows);
        const int64_t column = (int64_t)(unit % across) * width;
        const int64_t a_base =
            element_offset(batch, p.batches, p.batch_rank, p.batch_dims, p.a_batch) + row * p.a_row;
        const int64_t b_base =
            element_offset(batch, p.batches, p.batch_rank, p.batch_dims, p.b_batch);
        PHASE(t) {
            /* neighbouring threads read along the contiguous side of B */
            const uint32_t x = turned ? t / slices : t % width;
            const uint32_t slice = turned ? t % slices : t / width;
            float sum = 0;
            for (int64_t k = slice; column + x < p.columns && k < p.depth; k += slices)
                sum +=
                    element_to_f32(p.dtype, element_load(p.a, size, a_base + k * p.a_column)) *
                    element_to_f32(p.dtype,
                        element_load(p.b, size, b_base + k * p.b_row + (column + x) * p.b_column));
            lanes[slice * width + x] = sum;
        }
        for (uint32_t fold = CUDA_THREADS / 2; fold >= width; fold /= 2) {
            PHASE(t) {
                if (t < fold) lanes[t] += lanes[t + fold];
            }
        }
        PHASE(t) {
            if (t < width) matmul_store_f32(&p, batch, row, column + t, lanes[t]);
        }
    }
}
