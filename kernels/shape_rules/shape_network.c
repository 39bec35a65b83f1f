#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"
#include "kernels/arguments/window.h"

static Error *check_channels(const PlanRequest *request, uint32_t first) {
    const Shape *input = rule_shape(request, 0);
    if (input->rank < 2) FAIL(INVALID, "an input of rank %u", input->rank);
    for (uint32_t i = first; i < request->input_count; i++) {
        TRY(rule_check_shape(request, i, 1, &input->dims[1]));
        TRY(rule_check_dtype(request, i, DTYPES_FLOAT));
    }
    return NULL;
}

static Error *window_shape(
    PlanRequest *request, const Window *window, int64_t channels, Shape *out) {
    Shape shape = {.rank = 2, .dims = {rule_shape(request, 0)->dims[0], channels}};
    for (uint32_t i = 0; i < window->rank; i++) TRY(rule_push(&shape, window->output[i]));
    *out = shape;
    return NULL;
}

static Error *check_conv(const PlanRequest *request, int64_t *out_group) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    for (uint32_t i = 1; i < 3; i++) TRY(rule_check_same_dtype(request, i, 0));
    int64_t group = attributes_int(request->attributes, "group");
    const Shape *input = rule_shape(request, 0), *weights = rule_shape(request, 1);
    if (group < 1) FAIL(INVALID, "group %" PRId64, group);
    if (input->rank < 3 || weights->rank != input->rank)
        FAIL(INVALID, "an input of rank %u with weights of rank %u", input->rank, weights->rank);
    *out_group = group;
    return NULL;
}

static Error *check_groups(const Shape *input, const Shape *weights, int64_t group) {
    if (weights->dims[0] % group == 0 && input->dims[1] % group == 0 &&
        input->dims[1] / group == weights->dims[1])
        return NULL;
    FAIL(INVALID,
        "%" PRId64 " channels in %" PRId64 " groups with weights [%" PRId64 ", %" PRId64 ", …]",
        input->dims[1], group, weights->dims[0], weights->dims[1]);
}

Error *shape_rule_conv(PlanRequest *request) {
    int64_t group;
    TRY(check_conv(request, &group));
    const Shape *input = rule_shape(request, 0), *weights = rule_shape(request, 1);
    TRY(check_groups(input, weights, group));
    TRY(rule_check_shape(request, 2, 1, &weights->dims[0]));
    Window window;
    Shape shape;
    TRY(window_of(request, &window));
    TRY(window_shape(request, &window, weights->dims[0], &shape));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_conv_transpose(PlanRequest *request) {
    int64_t group, channels;
    TRY(check_conv(request, &group));
    const Shape *input = rule_shape(request, 0), *weights = rule_shape(request, 1);
    if (weights->dims[0] != input->dims[1] || input->dims[1] % group != 0)
        FAIL(INVALID, "%" PRId64 " channels in %" PRId64 " groups with weights [%" PRId64 ", …]",
            input->dims[1], group, weights->dims[0]);
    if (__builtin_mul_overflow(weights->dims[1], group, &channels))
        FAIL(INVALID, "too many channels");
    TRY(rule_check_shape(request, 2, 1, &channels));
    Window window;
    Shape shape;
    TRY(window_of_transpose(request, &window));
    TRY(window_shape(request, &window, channels, &shape));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

static Error *pool(PlanRequest *request, DTypeSet dtypes) {
    TRY(rule_check_dtype(request, 0, dtypes));
    Window window;
    Shape shape;
    TRY(window_of(request, &window));
    TRY(window_shape(request, &window, rule_shape(request, 0)->dims[1], &shape));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    rule_set(request, 1, DTYPE_INT64, &shape);
    return NULL;
}

Error *shape_rule_max_pool(PlanRequest *request) {
    return pool(request, DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8));
}
Error *shape_rule_average_pool(PlanRequest *request) { return pool(request, DTYPES_FLOAT); }

static Error *check_norm(const PlanRequest *request) {
    const int64_t p = attributes_int(request->attributes, "p");
    if (p < 1 || p > INT32_MAX) FAIL(INVALID, "p %" PRId64, p);
    return NULL;
}

Error *shape_rule_lp_pool(PlanRequest *request) {
    TRY(check_norm(request));
    return pool(request, DTYPES_FLOAT);
}

Error *shape_rule_max_unpool(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    Window window;
    Shape shape;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64)));
    TRY(rule_check_shape(request, 1, input->rank, input->dims));
    TRY(window_of_unpool(request, &window));
    TRY(window_shape(request, &window, input->dims[1], &shape));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* The offsets have one entry for each output and kernel position; the output shape by the offsets
 * must equal the output shape by the window. */
Error *shape_rule_deform_conv(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0), *weights = rule_shape(request, 1);
    const int64_t offset_group = attributes_int(request->attributes, "offset_group");
    int64_t group, points, coordinates;
    for (uint32_t i = 3; i < 5; i++) TRY(rule_check_same_dtype(request, i, 0));
    TRY(check_conv(request, &group));
    TRY(check_groups(input, weights, group));
    TRY(rule_check_shape(request, 3, 1, &weights->dims[0]));
    if (offset_group < 1 || input->dims[1] % offset_group != 0)
        FAIL(INVALID, "%" PRId64 " channels in %" PRId64 " groups of offsets", input->dims[1],
            offset_group);
    Window window;
    Shape shape;
    TRY(window_of(request, &window));
    TRY(window_shape(request, &window, weights->dims[0], &shape));
    points = offset_group;
    for (uint32_t i = 0; i < window.rank; i++)
        if (!checked_mul_i64(points, window.kernel[i], &points))
            FAIL(INVALID, "too many sampling points");
    if (!checked_mul_i64(points, window.rank, &coordinates))
        FAIL(INVALID, "too many sampling points");
    Shape offsets = shape;
    offsets.dims[1] = coordinates;
    TRY(rule_check_shape(request, 2, offsets.rank, offsets.dims));
    offsets.dims[1] = points;
    TRY(rule_check_shape(request, 4, offsets.rank, offsets.dims));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_global_lp_pool(PlanRequest *request) {
    TRY(check_norm(request));
    return shape_rule_global_pool(request);
}

Error *shape_rule_global_pool(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    Shape shape = *rule_shape(request, 0);
    if (shape.rank < 3) FAIL(INVALID, "an input of rank %u", shape.rank);
    for (uint32_t i = 2; i < shape.rank; i++) {
        if (shape.dims[i] == 0) FAIL(INVALID, "nothing in dimension %u", i);
        shape.dims[i] = 1;
    }
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_batch_normalization(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    const bool training = attributes_int(request->attributes, "training_mode") != 0;
    if (!training && request->output_count > 1)
        FAIL(INVALID, "running statistics without training_mode");
    TRY(check_channels(request, 1));
    TRY(rule_check_same_dtype(request, 2, 1));
    TRY(rule_check_same_dtype(request, 4, 3));
    if (training && shape_count_unchecked(rule_shape(request, 0)) == 0)
        FAIL(INVALID, "training_mode without elements");
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    rule_set(request, 1, rule_dtype(request, 3), rule_shape(request, 3));
    rule_set(request, 2, rule_dtype(request, 4), rule_shape(request, 4));
    return NULL;
}

Error *shape_rule_instance_normalization(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(check_channels(request, 1));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_same_dtype(request, 2, 0));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

/* scale and bias broadcast to the input, never the other way. */
static Error *check_scales(const PlanRequest *request) {
    for (uint32_t i = 1; i < request->input_count; i++) {
        if (!rule_has(request, i)) continue;
        Shape shape;
        TRY(shape_broadcast(rule_shape(request, 0), rule_shape(request, i), &shape));
        if (!shape_equal(&shape, rule_shape(request, 0)))
            FAIL(INVALID, "input %u does not broadcast to input 0", i);
    }
    return NULL;
}

Error *shape_rule_layer_normalization(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(arguments_axis(request, &axis));
    TRY(check_scales(request));
    Shape statistics = *rule_shape(request, 0);
    for (uint32_t i = axis; i < statistics.rank; i++) statistics.dims[i] = 1;
    DType stash = attributes_int(request->attributes, "stash_type") == 1 ? DTYPE_FLOAT32
                                                                         : rule_dtype(request, 0);
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    rule_set(request, 1, stash, &statistics);
    rule_set(request, 2, stash, &statistics);
    return NULL;
}

Error *shape_rule_rms_normalization(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_dtype(request, 1, DTYPES_FLOAT));
    TRY(arguments_axis(request, &axis));
    TRY(check_scales(request));
    rule_set(request, 0, rule_dtype(request, 1), rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_lrn(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    if (rule_shape(request, 0)->rank < 3)
        FAIL(INVALID, "an input of rank %u", rule_shape(request, 0)->rank);
    int64_t size = attributes_int(request->attributes, "size");
    if (size < 1 || size > INT32_MAX) FAIL(INVALID, "size %" PRId64, size);
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}
