#pragma once
/* What an operator that only moves elements does: a list of copies between strided arrays, which a
 * device then makes its own. */
#include "kernels/arguments/strided_view.h"

/* Element i of dims goes from from_offset + i . from_strides of that input to to_offset + i .
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

/* Of a Concat request one for each input, of a Split one for each output; one of an
 * operator with a strided view. */
uint32_t strided_copy_count(const PlanRequest *request);
/* Shows each of them, by its index below the count. Errors: INVALID, before the first is shown. */
MUST_CHECK Error *strided_copy_each(
    const PlanRequest *request, StridedCopyVisit *visit, void *context);
