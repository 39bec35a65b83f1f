/* Images: resampled, cut out, rearranged. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/arguments/arguments.h"
#include "kernels/arguments/resize.h"
#include "kernels/shape_rules/shape_rules_internal.h"
#include "kernels/arguments/window.h"

Error *shape_rule_resize(PlanRequest *request) {
    ResizeArguments resize;
    TRY(resize_arguments(request, &resize));
    TRY(rule_check_dtype(request, 0, resize.mode == RESIZE_NEAREST ? DTYPES_ANY : DTYPES_NUMBER));
    Shape shape = {.rank = resize.rank};
    for (uint32_t i = 0; i < shape.rank; i++) shape.dims[i] = resize.axes[i].output;
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_grid_sample(PlanRequest *request) {
    static const char *const modes[] = {"linear", "nearest", "cubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const Shape *x = rule_shape(request, 0), *grid = rule_shape(request, 1);
    TRY(arguments_word(request->attributes, "mode", modes, NULL));
    TRY(arguments_word(request->attributes, "padding_mode", paddings, NULL));
    const bool moves = strcmp(attributes_text(request->attributes, "mode"), "nearest") == 0;
    TRY(rule_check_dtype(request, 0, moves ? DTYPES_ANY : DTYPES_NUMBER));
    TRY(rule_check_dtype(request, 1, DTYPES_FLOAT));
    if (x->rank < 3) FAIL(INVALID, "an input of rank %u", x->rank);
    TRY(rule_check_rank(request, 1, x->rank));
    if (grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != (int64_t)x->rank - 2)
        FAIL(INVALID,
            "a grid [%" PRId64 ", …, %" PRId64 "] for a batch of %" PRId64 " with %u dimensions",
            grid->dims[0], grid->dims[grid->rank - 1], x->dims[0], x->rank - 2);
    Shape shape = {.rank = 2, .dims = {x->dims[0], x->dims[1]}};
    TRY(rule_push_dims(&shape, grid, 1, grid->rank - 1));
    for (uint32_t i = 2; i < x->rank; i++)
        if (x->dims[i] == 0) FAIL(INVALID, "nothing in dimension %u", i);
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_affine_grid(PlanRequest *request) {
    int64_t size[SHAPE_RANK_MAX];
    uint32_t count;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(arguments_ints(request, 1, SHAPE_RANK_MAX, size, &count));
    if (count != 4 && count != 5) FAIL(INVALID, "a size of %u dimensions, not 4 or 5", count);
    for (uint32_t i = 0; i < count; i++)
        if (size[i] < 0) FAIL(INVALID, "dimension %u is %" PRId64, i, size[i]);
    const int64_t theta[] = {size[0], count - 2, count - 1};
    TRY(rule_check_shape(request, 0, 3, theta));
    Shape shape = {.rank = 1, .dims = {size[0]}};
    for (uint32_t i = 2; i < count; i++) TRY(rule_push(&shape, size[i]));
    TRY(rule_push(&shape, count - 2));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* Checks regions of `columns` numbers each against the image, then sets the pooled shape. */
static Error *pool_regions(PlanRequest *request, int64_t columns, int64_t height, int64_t width) {
    const Shape *x = rule_shape(request, 0), *regions = rule_shape(request, 1);
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_rank(request, 0, 4));
    TRY(rule_check_rank(request, 1, 2));
    if (regions->dims[1] != columns)
        FAIL(INVALID, "regions of %" PRId64 " numbers, not %" PRId64, regions->dims[1], columns);
    if (height < 1 || height > INT32_MAX || width < 1 || width > INT32_MAX)
        FAIL(INVALID, "an output of %" PRId64 " by %" PRId64, height, width);
    if (x->dims[2] < 1 || x->dims[3] < 1) FAIL(INVALID, "an image without elements");
    const Shape shape = {4, {regions->dims[0], x->dims[1], height, width}};
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

enum { SAMPLING_RATIO_MAX = 4096 };

Error *shape_rule_roi_align(PlanRequest *request) {
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const coordinates[] = {"half_pixel", "output_half_pixel", NULL};
    const Attributes *attributes = request->attributes;
    TRY(arguments_word(attributes, "mode", modes, NULL));
    TRY(arguments_word(attributes, "coordinate_transformation_mode", coordinates, NULL));
    const int64_t ratio = attributes_int(attributes, "sampling_ratio");
    if (ratio < 0 || ratio > SAMPLING_RATIO_MAX) FAIL(INVALID, "sampling_ratio %" PRId64, ratio);
    TRY(pool_regions(request, 4, attributes_int(attributes, "output_height"),
        attributes_int(attributes, "output_width")));
    TRY(rule_check_dtype(request, 2, DTYPE_BIT(DTYPE_INT64)));
    return rule_check_shape(request, 2, 1, &rule_shape(request, 1)->dims[0]);
}

Error *shape_rule_max_roi_pool(PlanRequest *request) {
    uint32_t count;
    const int64_t *pooled = attributes_ints(request->attributes, "pooled_shape", &count);
    if (count != 2) FAIL(INVALID, "pooled_shape has %u elements, not 2", count);
    return pool_regions(request, 5, pooled[0], pooled[1]);
}

Error *shape_rule_col_2_im(PlanRequest *request) {
    Window window;
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_rank(request, 0, 3));
    TRY(window_of_columns(request, &window));
    const Shape *x = rule_shape(request, 0);
    int64_t block = 1, blocks = 1;
    for (uint32_t i = 0; i < window.rank; i++)
        if (!checked_mul_i64(block, window.kernel[i], &block) ||
            !checked_mul_i64(blocks, window.output[i], &blocks))
            FAIL(INVALID, "the blocks are too large");
    if (x->dims[1] % block != 0 || x->dims[2] != blocks)
        FAIL(INVALID, "columns [%" PRId64 ", %" PRId64 "] for %" PRId64 " blocks of %" PRId64,
            x->dims[1], x->dims[2], blocks, block);
    Shape shape = {.rank = 2, .dims = {x->dims[0], x->dims[1] / block}};
    for (uint32_t i = 0; i < window.rank; i++) TRY(rule_push(&shape, window.input[i]));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* CenterCropPad shares the reading of arguments with Pad. */
Error *shape_rule_center_crop_pad(PlanRequest *request) {
    PadArguments pad;
    TRY(rule_check_dtype(request, 0, DTYPES_ANY));
    TRY(arguments_pad(request, &pad));
    Shape shape = *rule_shape(request, 0);
    for (uint32_t i = 0; i < shape.rank; i++) shape.dims[i] += pad.begin[i] + pad.end[i];
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

static Error *read_block(const PlanRequest *request, int64_t *out) {
    static const char *const modes[] = {"DCR", "CRD", NULL};
    TRY(arguments_word(request->attributes, "mode", modes, NULL));
    TRY(rule_check_dtype(request, 0, DTYPES_ANY));
    TRY(rule_check_rank(request, 0, 4));
    *out = attributes_int(request->attributes, "blocksize");
    /* the square stays within int64 */
    if (*out < 1 || *out > INT32_MAX) FAIL(INVALID, "blocksize %" PRId64, *out);
    return NULL;
}

Error *shape_rule_depth_to_space(PlanRequest *request) {
    int64_t block;
    TRY(read_block(request, &block));
    Shape shape = *rule_shape(request, 0);
    if (shape.dims[1] % (block * block) != 0)
        FAIL(INVALID, "%" PRId64 " channels in blocks of %" PRId64 " by %" PRId64, shape.dims[1],
            block, block);
    shape.dims[1] /= block * block;
    for (uint32_t i = 2; i < 4; i++)
        if (!checked_mul_i64(shape.dims[i], block, &shape.dims[i]))
            FAIL(INVALID, "dimension %u becomes too large", i);
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_space_to_depth(PlanRequest *request) {
    int64_t block;
    TRY(read_block(request, &block));
    Shape shape = *rule_shape(request, 0);
    for (uint32_t i = 2; i < 4; i++) {
        if (shape.dims[i] % block != 0)
            FAIL(INVALID, "%" PRId64 " in dimension %u in blocks of %" PRId64, shape.dims[i], i,
                block);
        shape.dims[i] /= block;
    }
    if (!checked_mul_i64(shape.dims[1], block * block, &shape.dims[1]))
        FAIL(INVALID, "dimension 1 becomes too large");
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* Checks that an input is one number, of rank 0 or 1. */
static Error *check_one(const PlanRequest *request, uint32_t index, DType dtype) {
    TRY(rule_check_dtype(request, index, DTYPE_BIT(dtype)));
    if (!rule_has(request, index)) return NULL;
    const Shape *shape = rule_shape(request, index);
    if (shape->rank > 1 || shape_count_unchecked(shape) != 1)
        FAIL(INVALID, "input %u is not one number", index);
    return NULL;
}

Error *shape_rule_non_max_suppression(PlanRequest *request) {
    const Shape *boxes = rule_shape(request, 0), *scores = rule_shape(request, 1);
    const int64_t center = attributes_int(request->attributes, "center_point_box");
    for (uint32_t i = 0; i < 2; i++) {
        TRY(rule_check_dtype(request, i, DTYPE_BIT(DTYPE_FLOAT32)));
        TRY(rule_check_rank(request, i, 3));
    }
    if (boxes->dims[2] != 4 || scores->dims[0] != boxes->dims[0] ||
        scores->dims[2] != boxes->dims[1])
        FAIL(INVALID,
            "scores [%" PRId64 ", …, %" PRId64 "] of boxes [%" PRId64 ", %" PRId64 ", %" PRId64 "]",
            scores->dims[0], scores->dims[2], boxes->dims[0], boxes->dims[1], boxes->dims[2]);
    if (center != 0 && center != 1) FAIL(INVALID, "center_point_box %" PRId64, center);
    TRY(check_one(request, 2, DTYPE_INT64));
    TRY(check_one(request, 3, DTYPE_FLOAT32));
    TRY(check_one(request, 4, DTYPE_FLOAT32));
    const Shape shape = {2, {-1, 3}};
    rule_set(request, 0, DTYPE_INT64, &shape);
    return NULL;
}
