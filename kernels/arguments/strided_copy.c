#include "kernels/arguments/strided_copy.h"

#include <string.h>

#include "kernels/arguments/arguments.h"

/* Makes the copy between the elements of a view and a compact tensor, in either direction. */
static StridedCopy copy_of(const StridedView *view, bool gathers) {
    StridedCopy copy = {.rank = view->rank};
    int64_t compact[STRIDED_VIEW_RANK_MAX];
    const size_t size = view->rank * sizeof(int64_t);
    strided_view_compact(view, compact);
    memcpy(copy.dims, view->dims, size);
    memcpy(copy.from_strides, gathers ? view->strides : compact, size);
    memcpy(copy.to_strides, gathers ? compact : view->strides, size);
    copy.from_offset = gathers ? view->offset : 0;
    copy.to_offset = gathers ? 0 : view->offset;
    return copy;
}

static Error *of_view(const PlanRequest *request, StridedCopyVisit *visit, void *context) {
    StridedView view;
    TRY(strided_view_of(request, &view));
    const StridedCopy copy = copy_of(&view, true);
    visit(context, 0, &copy);
    return NULL;
}

static Error *of_concat(const PlanRequest *request, StridedCopyVisit *visit, void *context) {
    uint32_t axis;
    int64_t at = 0;
    const Shape *first;
    TRY(arguments_join(request, &axis, &first));
    for (uint32_t i = 0; i < request->input_count; i++) {
        Shape part = *first;
        StridedView view;
        (void)shape_join_length(first, &request->inputs[i].shape, axis, &part.dims[axis]);
        strided_view_part(&request->outputs[0].shape, &part, axis, at, &view);
        StridedCopy copy = copy_of(&view, false);
        copy.input = i;
        visit(context, i, &copy);
        at += part.dims[axis];
    }
    return NULL;
}

static Error *of_split(const PlanRequest *request, StridedCopyVisit *visit, void *context) {
    uint32_t axis;
    int64_t sizes[PLAN_OUTPUTS_MAX], at = 0;
    TRY(arguments_split(request, &axis, sizes));
    for (uint32_t i = 0; i < request->output_count; i++) {
        StridedView view;
        strided_view_part(&request->inputs[0].shape, &request->outputs[i].shape, axis, at, &view);
        StridedCopy copy = copy_of(&view, true);
        copy.output = i;
        visit(context, i, &copy);
        at += sizes[i];
    }
    return NULL;
}

uint32_t strided_copy_count(const PlanRequest *request) {
    OperatorId id = request->operator_info->id;
    if (id == OPERATOR_CONCAT) return request->input_count;
    return id == OPERATOR_SPLIT ? request->output_count : 1;
}

Error *strided_copy_each(const PlanRequest *request, StridedCopyVisit *visit, void *context) {
    OperatorId id = request->operator_info->id;
    if (id == OPERATOR_CONCAT) return of_concat(request, visit, context);
    if (id == OPERATOR_SPLIT) return of_split(request, visit, context);
    return of_view(request, visit, context);
}
