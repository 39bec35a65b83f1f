#include "kernels/arguments/strided_view.h"

#include <string.h>

#include "kernels/arguments/arguments.h"

static void over_output(const PlanRequest *request, const int64_t *strides, StridedView *out) {
    const Shape *shape = &request->outputs[0].shape;
    out->rank = shape->rank;
    memcpy(out->dims, shape->dims, shape->rank * sizeof(int64_t));
    memcpy(out->strides, strides, shape->rank * sizeof(int64_t));
}

static Error *of_transpose(const PlanRequest *request, StridedView *out) {
    uint32_t perm[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX], permuted[SHAPE_RANK_MAX] = {0};
    TRY(arguments_perm(request, perm));
    shape_strides(&request->inputs[0].shape, strides);
    for (uint32_t i = 0; i < request->outputs[0].shape.rank; i++) permuted[i] = strides[perm[i]];
    over_output(request, permuted, out);
    return NULL;
}

static Error *of_expand(const PlanRequest *request, StridedView *out) {
    int64_t strides[SHAPE_RANK_MAX];
    shape_broadcast_strides(&request->inputs[0].shape, &request->outputs[0].shape, strides);
    over_output(request, strides, out);
    return NULL;
}

/* Splits each dimension in two: the repeats, with stride 0, and the elements. */
static Error *of_tile(const PlanRequest *request, StridedView *out) {
    const Shape *input = &request->inputs[0].shape, *output = &request->outputs[0].shape;
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(input, strides);
    out->rank = 2 * input->rank;
    for (uint32_t i = 0; i < input->rank; i++) {
        out->dims[2 * i] = input->dims[i] ? output->dims[i] / input->dims[i] : 0;
        out->dims[2 * i + 1] = input->dims[i];
        out->strides[2 * i + 1] = strides[i];
    }
    return NULL;
}

static Error *of_slice(const PlanRequest *request, StridedView *out) {
    SliceArguments slice;
    TRY(arguments_slice(request, &slice));
    const Shape *shape = &request->outputs[0].shape;
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(&request->inputs[0].shape, strides);
    bool empty = shape_count_unchecked(shape) == 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        out->offset += empty ? 0 : slice.start[i] * strides[i];
        /* the step of a single element may be any number */
        strides[i] = empty || shape->dims[i] == 1 ? 0 : strides[i] * slice.step[i];
    }
    over_output(request, strides, out);
    return NULL;
}

/* Cuts the input to six dimensions, then permutes them. */
static void over_blocks(const int64_t *dims, const uint32_t *perm, StridedView *out) {
    int64_t strides[6], step = 1;
    for (uint32_t i = 6; i-- > 0; step *= dims[i]) strides[i] = step;
    out->rank = 6;
    for (uint32_t i = 0; i < 6; i++) {
        out->dims[i] = dims[perm[i]];
        out->strides[i] = strides[perm[i]];
    }
}

/* In mode CRD the block's places of one channel are adjacent in the depth; in DCR the channels of
 * one place of the block are. */
static void of_depth_to_space(const PlanRequest *request, StridedView *out) {
    static const uint32_t crd[6] = {0, 1, 4, 2, 5, 3}, dcr[6] = {0, 3, 4, 1, 5, 2};
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const int64_t block = attributes_int(request->attributes, "blocksize");
    const bool is_crd = strcmp(attributes_text(request->attributes, "mode"), "CRD") == 0;
    const int64_t channels = y->dims[1];
    const int64_t dims[6] = {x->dims[0], is_crd ? channels : block, block,
        is_crd ? block : channels, x->dims[2], x->dims[3]};
    over_blocks(dims, is_crd ? crd : dcr, out);
}

static void of_space_to_depth(const PlanRequest *request, StridedView *out) {
    static const uint32_t crd[6] = {0, 1, 3, 5, 2, 4}, dcr[6] = {0, 3, 5, 1, 2, 4};
    const Shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const int64_t block = attributes_int(request->attributes, "blocksize");
    const bool is_crd = strcmp(attributes_text(request->attributes, "mode"), "CRD") == 0;
    const int64_t dims[6] = {x->dims[0], x->dims[1], y->dims[2], block, y->dims[3], block};
    over_blocks(dims, is_crd ? crd : dcr, out);
}

Error *strided_view_of(const PlanRequest *request, StridedView *out) {
    memset(out, 0, sizeof *out);
    OperatorId id = request->operator_info->id;
    if (id == OPERATOR_TRANSPOSE) return of_transpose(request, out);
    if (id == OPERATOR_EXPAND) return of_expand(request, out);
    if (id == OPERATOR_TILE) return of_tile(request, out);
    if (id == OPERATOR_SLICE) return of_slice(request, out);
    if (id == OPERATOR_DEPTH_TO_SPACE || id == OPERATOR_SPACE_TO_DEPTH) {
        (id == OPERATOR_DEPTH_TO_SPACE ? of_depth_to_space : of_space_to_depth)(request, out);
        return NULL;
    }
    FAIL(INTERNAL, "%s is no view", request->operator_info->name);
}

void strided_view_part(
    const Shape *whole, const Shape *part, uint32_t axis, int64_t begin, StridedView *out) {
    memset(out, 0, sizeof *out);
    out->rank = 2;
    out->dims[0] = shape_product(part, 0, axis);
    out->dims[1] = shape_product(part, axis, part->rank);
    out->strides[0] = shape_product(whole, axis, whole->rank);
    out->strides[1] = 1;
    out->offset = begin * shape_product(whole, axis + 1, whole->rank);
}

void strided_view_compact(const StridedView *view, int64_t out_strides[STRIDED_VIEW_RANK_MAX]) {
    int64_t step = 1;
    for (uint32_t i = view->rank; i-- > 0; step *= view->dims[i]) out_strides[i] = step;
}
