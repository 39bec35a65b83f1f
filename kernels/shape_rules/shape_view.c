#include <inttypes.h>

#include "base/checked.h"
#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* 0 copies the input's dimension, -1 is computed from the remaining elements. */
static Error *resolve(const Shape *input, bool allow_zero, Shape *inout_shape) {
    int64_t known = 1, total = shape_count_unchecked(input);
    int unknown = -1;
    for (uint32_t i = 0; i < inout_shape->rank; i++) {
        int64_t *dim = &inout_shape->dims[i];
        if (*dim == -1) {
            if (unknown >= 0) FAIL(INVALID, "two dimensions are -1");
            unknown = (int)i;
            continue;
        }
        if (*dim < 0) FAIL(INVALID, "dimension %u is %" PRId64, i, *dim);
        if (*dim == 0 && !allow_zero) {
            if (i >= input->rank) FAIL(INVALID, "dimension %u copies one that is not there", i);
            *dim = input->dims[i];
        }
        if (!checked_mul_i64(known, *dim, &known)) FAIL(INVALID, "the shape is too large");
    }
    if (unknown < 0) return NULL;
    if (known == 0) FAIL(INVALID, "dimension %d cannot be told: the others make 0", unknown);
    if (total % known != 0)
        FAIL(INVALID, "%" PRId64 " elements do not divide by %" PRId64, total, known);
    inout_shape->dims[unknown] = total / known;
    return NULL;
}

Error *shape_rule_reshape(PlanRequest *request) {
    Shape shape = {0};
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64)));
    TRY(arguments_ints(request, 1, SHAPE_RANK_MAX, shape.dims, &shape.rank));
    bool allow_zero = attributes_int(request->attributes, "allowzero") != 0;
    TRY(resolve(rule_shape(request, 0), allow_zero, &shape));
    int64_t count;
    TRY(shape_count(&shape, &count));
    if (count != shape_count_unchecked(rule_shape(request, 0))) {
        TextBuilder OWN_TEXT(text) = {0};
        shape_print(rule_shape(request, 0), &text);
        text_append(&text, " as ");
        shape_print(&shape, &text);
        FAIL(INVALID, "cannot read %s", text_builder_get(&text));
    }
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_bit_cast(PlanRequest *request) {
    const DType from = rule_dtype(request, 0), to = attributes_dtype(request->attributes, "to");
    if (from == DTYPE_STRING || to == DTYPE_STRING || dtype_bits(from) != dtype_bits(to))
        FAIL(INVALID, "%s has not as many bits as %s", dtype_name(from), dtype_name(to));
    if (to == DTYPE_BOOL && from != to)
        FAIL(UNSUPPORTED, "a bool is 0 or 1, %s may be more", dtype_name(from));
    rule_set(request, 0, to, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_squeeze(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    bool gone[SHAPE_RANK_MAX] = {false};
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t count;
    TRY(arguments_ints(request, 1, SHAPE_RANK_MAX, axes, &count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        TRY(shape_axis(axes[i], input->rank, &axis));
        if (input->dims[axis] != 1)
            FAIL(INVALID, "dimension %u is %" PRId64 ", not 1", axis, input->dims[axis]);
        gone[axis] = true;
    }
    Shape shape = {0};
    for (uint32_t i = 0; i < input->rank; i++) {
        bool drop = rule_has(request, 1) ? gone[i] : input->dims[i] == 1;
        if (!drop) shape.dims[shape.rank++] = input->dims[i];
    }
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_unsqueeze(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    bool added[SHAPE_RANK_MAX] = {false};
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t count;
    TRY(arguments_ints(request, 1, SHAPE_RANK_MAX, axes, &count));
    uint32_t rank = input->rank + count;
    if (rank > SHAPE_RANK_MAX) FAIL(INVALID, "a result of rank %u", rank);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        TRY(shape_axis(axes[i], rank, &axis));
        if (added[axis]) FAIL(INVALID, "axis %u twice", axis);
        added[axis] = true;
    }
    Shape shape = {.rank = rank};
    for (uint32_t i = 0, from = 0; i < rank; i++)
        shape.dims[i] = added[i] ? 1 : input->dims[from++];
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_flatten(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    int64_t axis = attributes_int(request->attributes, "axis"), rank = input->rank;
    if (axis < -rank || axis > rank)
        FAIL(INVALID, "axis %" PRId64 " of rank %u", axis, input->rank);
    if (axis < 0) axis += rank;
    Shape shape = {.rank = 2,
        .dims = {shape_product(input, 0, (uint32_t)axis),
            shape_product(input, (uint32_t)axis, input->rank)}};
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}
