#pragma once
/* The input of an operator that only moves elements, as a view with strides, which a device then
 * copies. Called by strided_copy.c when a device plans. Pure: no state. */
#include "kernels/operator/plan.h"

enum { STRIDED_VIEW_RANK_MAX = 2 * SHAPE_RANK_MAX };

/* Element i of the compact output is input element offset + i . strides. A stride may be 0 or
 * negative. */
typedef struct StridedView {
    uint32_t rank;
    int64_t dims[STRIDED_VIEW_RANK_MAX];
    int64_t strides[STRIDED_VIEW_RANK_MAX];
    int64_t offset;
} StridedView;

/* The view of a Transpose, Expand, Tile, Slice, DepthToSpace or SpaceToDepth request. Errors:
 * INVALID. */
MUST_CHECK Error *strided_view_of(const PlanRequest *request, StridedView *out);
/* The view of the elements [begin, begin + part's size) along the axis of `whole`, with the shape
 * of `part`: Split reads it and Concat writes it. */
void strided_view_part(
    const Shape *whole, const Shape *part, uint32_t axis, int64_t begin, StridedView *out);
/* The strides of a compact tensor of the view's dims. */
void strided_view_compact(const StridedView *view, int64_t out_strides[STRIDED_VIEW_RANK_MAX]);
