#pragma once
/* What a reduction walks over: neighbouring dimensions of the same fate collapse into groups that
 * are kept or reduced in turn. The innermost two groups are either rows (reduced innermost) or
 * columns (kept innermost); groups outside them are walked through. */
#include <stdbool.h>

#include "kernels/tensor/shape.h"

/* Output (outer, i) with i < width is what the elements (repeat, j) with j < length come to, at
 * walk(kept, outer) + walk(reduced, repeat) + (columns ? j * stride + i : i * stride + j). */
typedef struct ReduceGroups {
    bool columns; /* kept innermost */
    uint32_t kept_rank, reduced_rank;
    int64_t kept_dims[SHAPE_RANK_MAX], kept_strides[SHAPE_RANK_MAX];
    int64_t reduced_dims[SHAPE_RANK_MAX], reduced_strides[SHAPE_RANK_MAX];
    int64_t repeats; /* product of reduced_dims */
    int64_t length;  /* elements reduced in one go: a row, or a column's rows */
    int64_t width;   /* outputs side by side: columns, or rows of one kept group */
    int64_t stride;  /* between rows */
    int64_t outer;   /* product of kept_dims */
    int64_t outputs; /* outer * width */
} ReduceGroups;

/* Where index `at` of these dimensions, row-major, stands. */
int64_t reduce_groups_walk(uint32_t rank, const int64_t *dims, const int64_t *strides, int64_t at);
void reduce_groups_make(const Shape *shape, const bool reduced[SHAPE_RANK_MAX], ReduceGroups *out);
