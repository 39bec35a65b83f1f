#pragma once
/* Copies of strided arrays on the device: Transpose, Expand, Slice, Concat and similar operators
 * become such copies. Called by the other planners when they plan and launch. Pure: a copy belongs
 * to its plan. */
#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/operator/plan.h"

/* Prepared at plan time. */
typedef struct CudaCopy {
    bool turns; /* in tiles that are transposed */
    union {
        CudaCopyParams plain;
        CudaTransposeParams tiles;
    };
    int64_t from_offset, to_offset; /* bytes */
} CudaCopy;

/* Prepares a copy of dims elements of `size` (1, 2, 4 or 8) bytes. Strides and offsets in elements;
 * a stride of `from` may be 0 or negative, `to` must not overlap itself. */
void cuda_copy_make(uint32_t rank, const int64_t *dims, const int64_t *from_strides,
    int64_t from_offset, const int64_t *to_strides, int64_t to_offset, uint32_t size,
    CudaCopy *out);
/* to, from: the addresses of element (0, 0, …) without the offsets. */
MUST_CHECK Error *cuda_copy_run(
    const Plan *plan, const Launch *launch, const CudaCopy *copy, uint64_t to, uint64_t from);
/* Copies bytes that do not overlap; does nothing if the addresses are the same. */
MUST_CHECK Error *cuda_copy_bytes(
    const Plan *plan, const Launch *launch, uint64_t to, uint64_t from, uint64_t size);
/* Writes count times an element of `size` bytes, given as an integer. */
MUST_CHECK Error *cuda_copy_fill(const Plan *plan, const Launch *launch, uint64_t to,
    uint64_t value, uint32_t size, uint64_t count);
/* The largest power of two up to 16 that divides all three. */
uint32_t cuda_copy_unit(uint64_t a, uint64_t b, uint64_t c);
