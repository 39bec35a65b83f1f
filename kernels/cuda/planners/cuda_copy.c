#include "kernels/cuda/planners/cuda_copy.h"

#include <assert.h>
#include <string.h>

enum { UNIT_MAX = 16, TURN_MIN = 8 /* shorter sides do not fill a tile */ };

uint32_t cuda_copy_unit(uint64_t a, uint64_t b, uint64_t c) {
    uint32_t unit = UNIT_MAX;
    while ((a | b | c) % unit != 0) unit /= 2;
    return unit;
}

/* Drops dimensions of 1, and joins adjacent dimensions that have one stride on both sides. */
static void collapse(uint32_t rank, const int64_t *dims, const int64_t *from, const int64_t *to,
    CudaCopyParams *out) {
    out->count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        out->count *= (uint64_t)dims[i];
        if (dims[i] == 1) continue;
        uint32_t last = out->rank - 1; /* not read at rank 0 */
        if (out->rank > 0 && out->from_strides[last] == from[i] * dims[i] &&
            out->to_strides[last] == to[i] * dims[i]) {
            out->dims[last] *= dims[i];
        } else {
            last = out->rank++;
            out->dims[last] = dims[i];
        }
        out->from_strides[last] = from[i];
        out->to_strides[last] = to[i];
    }
    if (out->rank > 0) return;
    out->rank = 1;
    out->dims[0] = (int64_t)out->count; /* 1, or 0 for no elements */
}

/* True when the innermost dimension of `to` and another one of `from` are contiguous. */
static bool find_turn(const CudaCopyParams *plain, uint32_t *out_axis) {
    const uint32_t last = plain->rank - 1;
    if (plain->to_strides[last] != 1 || plain->from_strides[last] < TURN_MIN) return false;
    if (plain->dims[last] < TURN_MIN) return false;
    for (uint32_t i = 0; i < last; i++)
        if (plain->from_strides[i] == 1 && plain->dims[i] >= TURN_MIN) {
            *out_axis = i;
            return true;
        }
    return false;
}

static CudaTransposeParams turn(const CudaCopyParams *plain, uint32_t axis) {
    const uint32_t last = plain->rank - 1;
    CudaTransposeParams tiles = {.batches = 1,
        .rows = plain->dims[last],
        .columns = plain->dims[axis],
        .from_row = plain->from_strides[last],
        .to_column = plain->to_strides[axis],
        .size = plain->size};
    for (uint32_t i = 0; i < last; i++) {
        if (i == axis) continue;
        tiles.dims[tiles.rank] = plain->dims[i];
        tiles.from_strides[tiles.rank] = plain->from_strides[i];
        tiles.to_strides[tiles.rank++] = plain->to_strides[i];
        tiles.batches *= (uint64_t)plain->dims[i];
    }
    if (tiles.rank == 0) tiles.dims[tiles.rank++] = 1;
    return tiles;
}

void cuda_copy_make(uint32_t rank, const int64_t *dims, const int64_t *from_strides,
    int64_t from_offset, const int64_t *to_strides, int64_t to_offset, uint32_t size,
    CudaCopy *out) {
    CudaCopyParams plain = {.size = size};
    uint32_t axis;
    assert(rank <= CUDA_COPY_RANK_MAX);
    collapse(rank, dims, from_strides, to_strides, &plain);
    memset(out, 0, sizeof *out);
    out->from_offset = from_offset * (int64_t)size;
    out->to_offset = to_offset * (int64_t)size;
    out->turns = plain.count > 0 && find_turn(&plain, &axis);
    if (out->turns)
        out->tiles = turn(&plain, axis);
    else
        out->plain = plain;
}

/* Joins adjacent elements of both sides to larger units, if the addresses of this launch are
 * aligned. */
static void widen(CudaCopyParams *params) {
    const uint32_t last = params->rank - 1;
    if (params->from_strides[last] != 1 || params->to_strides[last] != 1) return;
    uint64_t common = (uint64_t)params->dims[last];
    for (uint32_t i = 0; i < last; i++)
        common |= (uint64_t)params->from_strides[i] | (uint64_t)params->to_strides[i];
    const uint32_t unit = cuda_copy_unit(common * params->size, params->from, params->to);
    if (unit <= params->size) return;
    const int64_t factor = unit / params->size;
    params->size = unit;
    params->count /= (uint64_t)factor;
    params->dims[last] /= factor;
    for (uint32_t i = 0; i < last; i++) {
        params->from_strides[i] /= factor;
        params->to_strides[i] /= factor;
    }
}

static Error *run_tiles(
    const Plan *plan, const Launch *launch, const CudaCopy *copy, uint64_t to, uint64_t from) {
    CudaTransposeParams params = copy->tiles;
    params.from = from;
    params.to = to;
    const uint64_t across = (uint64_t)(params.columns + CUDA_COPY_TILE - 1) / CUDA_COPY_TILE;
    const uint64_t down = (uint64_t)(params.rows + CUDA_COPY_TILE - 1) / CUDA_COPY_TILE;
    return cuda_run_blocks(plan, launch, CUDA_KERNEL_TRANSPOSE, params.batches * across * down,
        &params, sizeof params);
}

Error *cuda_copy_run(
    const Plan *plan, const Launch *launch, const CudaCopy *copy, uint64_t to, uint64_t from) {
    to += (uint64_t)copy->to_offset;
    from += (uint64_t)copy->from_offset;
    if (copy->turns) return run_tiles(plan, launch, copy, to, from);
    CudaCopyParams params = copy->plain;
    params.from = from;
    params.to = to;
    if (params.count > 0) widen(&params);
    return cuda_run_units(plan, launch, CUDA_KERNEL_COPY, params.count, &params, sizeof params);
}

Error *cuda_copy_bytes(
    const Plan *plan, const Launch *launch, uint64_t to, uint64_t from, uint64_t size) {
    const int64_t one = 1, count = (int64_t)size;
    CudaCopy copy;
    if (to == from) return NULL;
    cuda_copy_make(1, &count, &one, 0, &one, 0, 1, &copy);
    return cuda_copy_run(plan, launch, &copy, to, from);
}

Error *cuda_copy_fill(const Plan *plan, const Launch *launch, uint64_t to, uint64_t value,
    uint32_t size, uint64_t count) {
    CudaFillParams params = {.to = to, .count = count, .value = value, .size = size};
    return cuda_run_units(plan, launch, CUDA_KERNEL_FILL, count, &params, sizeof params);
}
