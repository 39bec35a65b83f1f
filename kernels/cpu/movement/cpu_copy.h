#pragma once
/* Copies of strided arrays: Transpose, Expand, Slice, Concat and similar operators become such
 * copies. Prepared by many kernels of the cpu when they plan, run on the threads of a launch. Pure:
 * a copy belongs to its plan. */
#include "kernels/cpu/core/cpu_internal.h"

enum { CPU_COPY_RANK_MAX = 2 * SHAPE_RANK_MAX };

typedef enum CpuCopyKind {
    CPU_COPY_NOTHING,
    CPU_COPY_RUNS,    /* the innermost dimension is contiguous on both sides: memcpy */
    CPU_COPY_TILES,   /* the two innermost dimensions are exchanged */
    CPU_COPY_STRIDED, /* element by element; a stride of 0 repeats */
} CpuCopyKind;

/* Prepared at plan time. Strides and offsets in bytes. */
typedef struct CpuCopy {
    CpuCopyKind kind;
    uint32_t rank; /* of the outer dimensions, without the one or two that the kind handles */
    uint32_t size; /* of an element: 1, 2, 4, 8 or 16 after joining */
    int64_t dims[CPU_COPY_RANK_MAX];
    int64_t from[CPU_COPY_RANK_MAX];
    int64_t to[CPU_COPY_RANK_MAX];
    int64_t from_offset, to_offset;
    /* RUNS: count = bytes of a run. STRIDED: count elements, from_step apart, to_step apart. TILES:
     * count elements contiguous in `to` and from_step apart, times rows contiguous in `from` and
     * to_step apart. */
    int64_t count, rows;
    int64_t from_step, to_step;
    uint64_t units, units_per_part_min;
    int64_t unit_rows; /* rows of the innermost part in one unit */
    uint64_t units_per_outer;
} CpuCopy;

/* Prepares a copy of dims elements of `size` (1, 2, 4 or 8) bytes. Strides and offsets in elements;
 * a stride of `from` may be 0 or negative, `to` must not overlap itself. */
void cpu_copy_make(uint32_t rank, const int64_t *dims, const int64_t *from_strides,
    int64_t from_offset, const int64_t *to_strides, int64_t to_offset, uint32_t size, CpuCopy *out);
/* to, from: the addresses of element (0, 0, …) without the offsets; they do not overlap. */
MUST_CHECK Error *cpu_copy_run(
    CpuDevice *device, uint32_t threads, const CpuCopy *copy, void *to, const void *from);
/* memcpy on several threads. */
MUST_CHECK Error *cpu_copy_bytes(
    CpuDevice *device, uint32_t threads, void *to, const void *from, uint64_t size);
