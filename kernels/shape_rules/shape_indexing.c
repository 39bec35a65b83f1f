#include <inttypes.h>
#include <string.h>

#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"

static const DTypeSet INDEX_SET = DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64);

Error *shape_rule_gather(PlanRequest *request) {
    uint32_t axis;
    const Shape *data = rule_shape(request, 0), *indices = rule_shape(request, 1);
    TRY(rule_check_dtype(request, 1, INDEX_SET));
    TRY(arguments_axis(request, &axis));
    Shape shape = {0};
    TRY(rule_push_dims(&shape, data, 0, axis));
    TRY(rule_push_dims(&shape, indices, 0, indices->rank));
    TRY(rule_push_dims(&shape, data, axis + 1, data->rank));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* Beside the axis, indices may be shorter than the data, never longer. */
static Error *check_elements(const PlanRequest *request, uint32_t axis) {
    const Shape *data = rule_shape(request, 0), *indices = rule_shape(request, 1);
    TRY(rule_check_rank(request, 1, data->rank));
    for (uint32_t i = 0; i < data->rank; i++)
        if (i != axis && indices->dims[i] > data->dims[i])
            FAIL(INVALID, "%" PRId64 " indices for %" PRId64 " elements in dimension %u",
                indices->dims[i], data->dims[i], i);
    return NULL;
}

Error *shape_rule_gather_elements(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 1, INDEX_SET));
    TRY(arguments_axis(request, &axis));
    TRY(check_elements(request, axis));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 1));
    return NULL;
}

static Error *check_reduction(const PlanRequest *request) {
    static const char *const known[] = {"none", "add", "mul", "max", "min", NULL};
    return arguments_word(request->attributes, "reduction", known, NULL);
}

Error *shape_rule_scatter_elements(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 1, INDEX_SET));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(arguments_axis(request, &axis));
    TRY(check_reduction(request));
    TRY(check_elements(request, axis));
    const Shape *indices = rule_shape(request, 1);
    TRY(rule_check_shape(request, 2, indices->rank, indices->dims));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

/* Reads how many dimensions of the data an index tuple covers. */
static Error *read_depth(const PlanRequest *request, uint32_t batch_dims, uint32_t *out_depth) {
    const Shape *data = rule_shape(request, 0), *indices = rule_shape(request, 1);
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64)));
    if (data->rank < 1 || indices->rank < 1 || batch_dims >= indices->rank ||
        batch_dims >= data->rank)
        FAIL(INVALID, "data of rank %u, indices of rank %u, %u batch dimensions", data->rank,
            indices->rank, batch_dims);
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth > data->rank - batch_dims)
        FAIL(INVALID, "indices of %" PRId64 " coordinates for rank %u", depth,
            data->rank - batch_dims);
    *out_depth = (uint32_t)depth;
    return NULL;
}

Error *shape_rule_gather_nd(PlanRequest *request) {
    const Shape *data = rule_shape(request, 0), *indices = rule_shape(request, 1);
    int64_t given = attributes_int(request->attributes, "batch_dims");
    if (given < 0 || given >= SHAPE_RANK_MAX) FAIL(INVALID, "batch_dims %" PRId64, given);
    uint32_t batch_dims = (uint32_t)given, depth;
    TRY(read_depth(request, batch_dims, &depth));
    for (uint32_t i = 0; i < batch_dims; i++)
        if (indices->dims[i] != data->dims[i]) FAIL(INVALID, "batch dimension %u differs", i);
    Shape shape = {0};
    TRY(rule_push_dims(&shape, indices, 0, indices->rank - 1));
    TRY(rule_push_dims(&shape, data, batch_dims + depth, data->rank));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_scatter_nd(PlanRequest *request) {
    const Shape *data = rule_shape(request, 0), *indices = rule_shape(request, 1);
    uint32_t depth;
    TRY(read_depth(request, 0, &depth));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(check_reduction(request));
    Shape updates = {0};
    TRY(rule_push_dims(&updates, indices, 0, indices->rank - 1));
    TRY(rule_push_dims(&updates, data, depth, data->rank));
    TRY(rule_check_shape(request, 2, updates.rank, updates.dims));
    rule_set(request, 0, rule_dtype(request, 0), data);
    return NULL;
}

/* The first dimension is the batch; each item is written at its own index. */
Error *shape_rule_tensor_scatter(PlanRequest *request) {
    const Shape *cache = rule_shape(request, 0), *update = rule_shape(request, 1);
    const char *mode = attributes_text(request->attributes, "mode");
    uint32_t axis;
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
        FAIL(INVALID, "mode \"%.40s\"", mode);
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(arguments_axis(request, &axis));
    if (axis == 0) FAIL(INVALID, "axis 0 is the batch");
    TRY(rule_check_rank(request, 1, cache->rank));
    for (uint32_t i = 0; i < cache->rank; i++)
        if (i == axis ? update->dims[i] > cache->dims[i] : update->dims[i] != cache->dims[i])
            FAIL(INVALID, "an update of %" PRId64 " for %" PRId64 " in dimension %u",
                update->dims[i], cache->dims[i], i);
    TRY(rule_check_dtype(request, 2, DTYPE_BIT(DTYPE_INT64)));
    TRY(rule_check_shape(request, 2, 1, cache->dims));
    rule_set(request, 0, rule_dtype(request, 0), cache);
    return NULL;
}

/* Time and batch are the first two dimensions, in any order. */
Error *shape_rule_reverse_sequence(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    const int64_t time = attributes_int(request->attributes, "time_axis");
    const int64_t batch = attributes_int(request->attributes, "batch_axis");
    if (input->rank < 2) FAIL(INVALID, "an input of rank %u", input->rank);
    if (time < 0 || time > 1 || batch != 1 - time)
        FAIL(INVALID, "time_axis %" PRId64 " and batch_axis %" PRId64, time, batch);
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64)));
    TRY(rule_check_shape(request, 1, 1, &input->dims[batch]));
    rule_set(request, 0, rule_dtype(request, 0), input);
    return NULL;
}

Error *shape_rule_one_hot(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_dtype(request, 2, DTYPES_ANY | DTYPE_BIT(DTYPE_STRING)));
    const Shape *indices = rule_shape(request, 0);
    int64_t depth;
    uint32_t axis;
    TRY(arguments_int(request, 1, &depth));
    if (depth < 1) FAIL(INVALID, "depth %" PRId64, depth);
    TRY(shape_axis(attributes_int(request->attributes, "axis"), indices->rank + 1, &axis));
    static const int64_t pair[] = {2};
    TRY(rule_check_shape(request, 2, 1, pair));
    Shape shape = {0};
    TRY(rule_push_dims(&shape, indices, 0, axis));
    TRY(rule_push(&shape, depth));
    TRY(rule_push_dims(&shape, indices, axis, indices->rank));
    rule_set(request, 0, rule_dtype(request, 2), &shape);
    return NULL;
}
