#pragma once
/* The outputs of a reduction in chunks of neighbours, for kernels that read their elements more
 * than once. The order of an output's elements depends on the shape alone. Called by
 * cpu_group_plan.c and the kernels that it runs, on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/reduce_groups.h"

enum { CPU_GROUP_CHUNK = 64 };

typedef struct CpuGroupChunk {
    const ReduceGroups *groups;
    int64_t base;   /* of the first output's elements */
    int64_t output; /* number of the first */
    int64_t count;  /* outputs, at most CPU_GROUP_CHUNK */
    CpuLevel level; /* of loops over the elements */
} CpuGroupChunk;

static inline uint64_t cpu_group_chunks(const ReduceGroups *groups) {
    return (uint64_t)(groups->outer * ((groups->width + CPU_GROUP_CHUNK - 1) / CPU_GROUP_CHUNK));
}

/* Elements of a whole chunk. */
static inline int64_t cpu_group_elements(const ReduceGroups *groups) {
    const int64_t outputs = groups->width < CPU_GROUP_CHUNK ? groups->width : CPU_GROUP_CHUNK;
    return groups->repeats * groups->length * outputs;
}

static inline CpuGroupChunk cpu_group_chunk(
    const ReduceGroups *groups, CpuLevel level, uint64_t number) {
    const int64_t per_outer = (groups->width + CPU_GROUP_CHUNK - 1) / CPU_GROUP_CHUNK;
    const int64_t outer = (int64_t)number / per_outer;
    const int64_t first = (int64_t)number % per_outer * CPU_GROUP_CHUNK;
    const int64_t left = groups->width - first;
    CpuGroupChunk chunk = {groups, 0, outer * groups->width + first, left, level};
    if (left > CPU_GROUP_CHUNK) chunk.count = CPU_GROUP_CHUNK;
    chunk.base =
        reduce_groups_walk(groups->kept_rank, groups->kept_dims, groups->kept_strides, outer);
    chunk.base += groups->columns ? first : first * groups->stride;
    return chunk;
}

/* Runs `statement` for every element `at` (int64_t) of the chunk's output `i` (int64_t). */
#define CPU_GROUP_EACH(chunk, i, at, statement)                                                    \
    do {                                                                                           \
        const ReduceGroups *each = (chunk)->groups;                                                \
        KernelStopMeter meter = {0};                                                               \
        bool ended = false;                                                                        \
        const int64_t rows = each->columns ? each->length : (chunk)->count;                        \
        const int64_t columns = each->columns ? (chunk)->count : each->length;                     \
        for (int64_t repeat = 0; repeat < each->repeats && !ended; repeat++) {                     \
            const int64_t start =                                                                  \
                (chunk)->base + reduce_groups_walk(each->reduced_rank, each->reduced_dims,         \
                                    each->reduced_strides, repeat);                                \
            for (int64_t row = 0; row < rows && !ended; row++)                                     \
                for (int64_t begin = 0, end; begin < columns && !ended; begin = end) {             \
                    end = kernel_stop_piece(begin, columns);                                       \
                    for (int64_t column = begin; column < end; column++) {                         \
                        const int64_t i = each->columns ? column : row;                            \
                        const int64_t at = start + row * each->stride + column;                    \
                        statement;                                                                 \
                    }                                                                              \
                    ended = kernel_stop_ends_after(&meter, (uint64_t)(end - begin) * 4 + 16);      \
                }                                                                                  \
        }                                                                                          \
    } while (0)
