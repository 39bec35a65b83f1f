/* Operators that move elements by rules known at plan time. */
#include "kernels/cuda/device/device_elements.h"

KERNEL(layover_copy, CudaCopyParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const int64_t from = element_offset(i, p.count, p.rank, p.dims, p.from_strides);
            const int64_t to = element_offset(i, p.count, p.rank, p.dims, p.to_strides);
            element_move(p.to, to, p.from, from, p.size);
        }
    }
}

enum {
    TILE = CUDA_COPY_TILE,
    TILE_PITCH = TILE + 1, /* so that the columns of a tile are in different banks */
    TILE_STEP = CUDA_THREADS / TILE
};

KERNEL(layover_transpose, CudaTransposeParams) {
    SHARED(uint64_t, tile, TILE * TILE_PITCH);
    const uint64_t across = (uint64_t)(p.columns + TILE - 1) / TILE;
    const uint64_t down = (uint64_t)(p.rows + TILE - 1) / TILE;
    for (uint64_t unit = BLOCK; unit < p.batches * across * down; unit += BLOCKS) {
        const uint64_t batch = unit / (across * down);
        const int64_t column = (int64_t)(unit % across) * TILE;
        const int64_t row = (int64_t)(unit / across % down) * TILE;
        const int64_t from = element_offset(batch, p.batches, p.rank, p.dims, p.from_strides);
        const int64_t to = element_offset(batch, p.batches, p.rank, p.dims, p.to_strides);
        PHASE(t) {
            const int64_t x = t % TILE;
            for (int64_t y = t / TILE; y < TILE; y += TILE_STEP)
                if (column + x < p.columns && row + y < p.rows)
                    tile[y * TILE_PITCH + x] =
                        element_load(p.from, p.size, from + (row + y) * p.from_row + column + x);
        }
        PHASE(t) {
            const int64_t y = t % TILE;
            for (int64_t x = t / TILE; x < TILE; x += TILE_STEP)
                if (column + x < p.columns && row + y < p.rows)
                    element_store(p.to, p.size, to + (column + x) * p.to_column + row + y,
                        tile[y * TILE_PITCH + x]);
        }
    }
}

KERNEL(layover_fill, CudaFillParams) {
    THREADS(t) { EACH_UNIT(i, t, p.count) element_store(p.to, p.size, (int64_t)i, p.value); }
}

KERNEL(layover_numbers, CudaNumbersParams) {
    THREADS(t) { EACH_UNIT(i, t, p.count)((int64_t *)(uintptr_t)p.to)[i] = p.numbers[i]; }
}

/* r + k may exceed int64, so k is limited first. */
DEVICE int trilu_keeps(const CudaTriluParams *p, int64_t row, int64_t column) {
    const int64_t k = p->k < -p->height ? -p->height : p->k > p->width ? p->width : p->k;
    return p->upper ? column >= row + k : column <= row + k;
}

KERNEL(layover_trilu, CudaTriluParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const int64_t column = (int64_t)i % p.width, row = (int64_t)i / p.width % p.height;
            const uint64_t bits = element_load(p.from, p.size, (int64_t)i);
            element_store(p.to, p.size, (int64_t)i, trilu_keeps(&p, row, column) ? bits : 0);
        }
    }
}

/* The input coordinate for output coordinate `at`; -1: the constant. */
DEVICE int64_t pad_source(const CudaPadParams *p, uint32_t d, int64_t at) {
    const int64_t dim = p->in_dims[d], i = at - p->begin[d];
    if (i >= 0 && i < dim) return i;
    switch (p->mode) {
    case CUDA_PAD_EDGE:
        return i < 0 ? 0 : dim - 1;
    case CUDA_PAD_REFLECT:
        return i < 0 ? -i : 2 * (dim - 1) - i;
    case CUDA_PAD_WRAP:
        return (i % dim + dim) % dim;
    default:
        return -1;
    }
}

KERNEL(layover_pad, CudaPadParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            uint64_t rest = i, bits = 0;
            int64_t offset = 0;
            int constant = p.from == 0;
            for (uint32_t d = p.rank; d-- > 0 && !constant;) {
                const int64_t source = pad_source(&p, d, (int64_t)(rest % (uint64_t)p.out_dims[d]));
                rest /= (uint64_t)p.out_dims[d];
                constant = source < 0;
                offset += source * p.strides[d];
            }
            if (!constant)
                bits = element_load(p.from, p.size, offset);
            else if (p.value)
                bits = element_load(p.value, p.size, 0);
            element_store(p.to, p.size, (int64_t)i, bits);
        }
    }
}
