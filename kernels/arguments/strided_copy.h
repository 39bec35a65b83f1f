#pragma once
/* The work of an operator that only moves elements, as a list of copies between strided arrays,
 * which a device executes in its own way. Called by copy_plan.c when a device plans. Pure: no
 * state. */
#include "kernels/arguments/strided_view.h"

/* Copies element i of dims from from_offset + i . from_strides of that input to to_offset + i .
 * to_strides of that output; strides and offsets in elements. A stride of `from` may be 0 or
 * negative; `to` does not overlap itself. */
typedef struct StridedCopy {
    uint32_t input, output;
    uint32_t rank;
    int64_t dims[STRIDED_VIEW_RANK_MAX];
    int64_t from_strides[STRIDED_VIEW_RANK_MAX];
    int64_t to_strides[STRIDED_VIEW_RANK_MAX];
    int64_t from_offset, to_offset;
} StridedCopy;

typedef void StridedCopyVisit(void *context, uint32_t index, const StridedCopy *copy);

/* The number of copies: of a Concat request one for each input, of a Split one for each output, of
 * an operator with a strided view one. */
uint32_t strided_copy_count(const PlanRequest *request);
/* Calls visit for each copy, with its index. Errors: INVALID, before the first call. */
MUST_CHECK Error *strided_copy_each(
    const PlanRequest *request, StridedCopyVisit *visit, void *context);
