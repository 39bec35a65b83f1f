#pragma once
/* The loops of a reduction: neighbouring dimensions that are all kept or all reduced collapse into
 * groups. The innermost two groups are either rows (reduced innermost) or columns (kept innermost);
 * the groups outside them are walked through. Called by the reductions of cpu and cuda when they
 * plan. Pure: no state. */
#include <stdbool.h>

#include "kernels/tensor/shape.h"

/* Output (outer, i) with i < width is the reduction of the elements (repeat, j) with j < length, at
 * walk(kept, outer) + walk(reduced, repeat) + (columns ? j * stride + i : i * stride + j). */
typedef struct ReduceGroups {
    bool columns; /* kept innermost */
    uint32_t kept_rank, reduced_rank;
    int64_t kept_dims[SHAPE_RANK_MAX], kept_strides[SHAPE_RANK_MAX];
    int64_t reduced_dims[SHAPE_RANK_MAX], reduced_strides[SHAPE_RANK_MAX];
    int64_t repeats; /* product of reduced_dims */
    int64_t length;  /* elements reduced together: a row, or a column's rows */
    int64_t width;   /* outputs side by side: columns, or rows of one kept group */
    int64_t stride;  /* between rows */
    int64_t outer;   /* product of kept_dims */
    int64_t outputs; /* outer * width */
} ReduceGroups;

/* The offset of index `at` of these dimensions, row-major. */
int64_t reduce_groups_walk(uint32_t rank, const int64_t *dims, const int64_t *strides, int64_t at);
void reduce_groups_make(const Shape *shape, const bool reduced[SHAPE_RANK_MAX], ReduceGroups *out);
