#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"
#include "kernels/tensor/tensor.h"

/* The error for an input that cannot be joined to the first. */
static Error *fail_join(const Shape *first, const Shape *other, uint32_t axis, uint32_t i) {
    if (other->rank != first->rank)
        FAIL(INVALID, "input %u has rank %u, not %u", i, other->rank, first->rank);
    uint32_t d = 0;
    while (d == axis || other->dims[d] == first->dims[d]) d++;
    FAIL(INVALID, "input %u has %" PRId64 " in dimension %u, not %" PRId64, i, other->dims[d], d,
        first->dims[d]);
}

Error *shape_rule_concat(PlanRequest *request) {
    uint32_t axis;
    const Shape *first;
    TRY(arguments_join(request, &axis, &first));
    Shape shape = *first;
    shape.dims[axis] = 0;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const Shape *other = rule_shape(request, i);
        int64_t length;
        TRY(rule_check_same_dtype(request, i, 0));
        if (!shape_join_length(first, other, axis, &length))
            return fail_join(first, other, axis, i);
        if (!checked_add_i64(shape.dims[axis], length, &shape.dims[axis]))
            FAIL(INVALID, "the result is too large");
    }
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_split(PlanRequest *request) {
    uint32_t axis;
    int64_t sizes[PLAN_OUTPUTS_MAX];
    TRY(arguments_split(request, &axis, sizes));
    Shape shape = *rule_shape(request, 0);
    for (uint32_t i = 0; i < request->output_count; i++) {
        shape.dims[axis] = sizes[i];
        rule_set(request, i, rule_dtype(request, 0), &shape);
    }
    return NULL;
}

Error *shape_rule_slice(PlanRequest *request) {
    SliceArguments slice;
    TRY(arguments_slice(request, &slice));
    Shape shape = shape_make(rule_shape(request, 0)->rank, slice.count);
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_transpose(PlanRequest *request) {
    uint32_t perm[SHAPE_RANK_MAX];
    TRY(arguments_perm(request, perm));
    Shape shape = {.rank = rule_shape(request, 0)->rank};
    for (uint32_t i = 0; i < shape.rank; i++) shape.dims[i] = rule_shape(request, 0)->dims[perm[i]];
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* Reads a shape from values, which must be at least `low`. */
static Error *read_shape(const PlanRequest *request, uint32_t index, int64_t low, Shape *out) {
    Shape shape = {0};
    TRY(arguments_ints(request, index, SHAPE_RANK_MAX, shape.dims, &shape.rank));
    for (uint32_t i = 0; i < shape.rank; i++)
        if (shape.dims[i] < low) FAIL(INVALID, "dimension %u is %" PRId64, i, shape.dims[i]);
    *out = shape;
    return NULL;
}

Error *shape_rule_expand(PlanRequest *request) {
    Shape target;
    TRY(read_shape(request, 1, 0, &target));
    TRY(shape_broadcast(rule_shape(request, 0), &target, &target));
    rule_set(request, 0, rule_dtype(request, 0), &target);
    return NULL;
}

Error *shape_rule_tile(PlanRequest *request) {
    Shape repeats, shape = *rule_shape(request, 0);
    TRY(read_shape(request, 1, 0, &repeats));
    if (repeats.rank != shape.rank)
        FAIL(INVALID, "%u repeats for rank %u", repeats.rank, shape.rank);
    for (uint32_t i = 0; i < shape.rank; i++)
        if (!checked_mul_i64(shape.dims[i], repeats.dims[i], &shape.dims[i]))
            FAIL(INVALID, "dimension %u becomes too large", i);
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_pad(PlanRequest *request) {
    PadArguments pad;
    TRY(arguments_pad(request, &pad));
    TRY(rule_check_same_dtype(request, 2, 0));
    if (rule_has(request, 2) && shape_count_unchecked(rule_shape(request, 2)) != 1)
        FAIL(INVALID, "constant_value is not a scalar");
    Shape shape = *rule_shape(request, 0);
    for (uint32_t i = 0; i < shape.rank; i++) {
        int64_t change = pad.begin[i] + pad.end[i]; /* each within a quarter of int64 */
        if (!checked_add_i64(shape.dims[i], change, &shape.dims[i]) || shape.dims[i] < 0)
            FAIL(INVALID, "dimension %u cannot be changed by %" PRId64, i, change);
        bool gone = pad.begin[i] < -rule_shape(request, 0)->dims[i] ||
                    pad.end[i] < -rule_shape(request, 0)->dims[i];
        if (gone) FAIL(INVALID, "more is cut off dimension %u than it has", i);
    }
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_constant_of_shape(PlanRequest *request) {
    Shape shape;
    TRY(read_shape(request, 0, 0, &shape));
    const Tensor *value = attributes_tensor(request->attributes, "value");
    if (value && shape_count_unchecked(&value->shape) != 1)
        FAIL(INVALID, "value is not one element");
    rule_set(request, 0, value ? value->dtype : DTYPE_FLOAT32, &shape);
    return NULL;
}

Error *shape_rule_range(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0,
        DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_same_dtype(request, 2, 0));
    RangeArguments range;
    TRY(arguments_range(request, &range));
    Shape shape = {.rank = 1, .dims = {range.count}};
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* Clamps start … end to the dimensions: by ONNX's text, numbers out of range are no error. */
Error *shape_rule_shape(PlanRequest *request) {
    ShapeNumbers dims;
    arguments_shape_numbers(request, &dims);
    Shape shape = {.rank = 1, .dims = {dims.count}};
    rule_set(request, 0, DTYPE_INT64, &shape);
    return NULL;
}

Error *shape_rule_size(PlanRequest *request) {
    Shape scalar = {0};
    rule_set(request, 0, DTYPE_INT64, &scalar);
    return NULL;
}

Error *shape_rule_eye_like(PlanRequest *request) {
    static const DTypeSet SET = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    TRY(rule_check_dtype(request, 0, SET));
    TRY(rule_check_rank(request, 0, 2));
    DType dtype = rule_dtype(request, 0);
    if (attributes_has(request->attributes, "dtype"))
        dtype = attributes_dtype(request->attributes, "dtype");
    if (!(SET & DTYPE_BIT(dtype))) FAIL(INVALID, "dtype %s", dtype_name(dtype));
    rule_set(request, 0, dtype, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_trilu(PlanRequest *request) {
    TriluArguments trilu;
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64)));
    TRY(arguments_trilu(request, &trilu));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

/* The coordinates of a scalar are empty, so its result is [0, N]. */
Error *shape_rule_non_zero(PlanRequest *request) {
    Shape shape = {.rank = 2, .dims = {rule_shape(request, 0)->rank, -1}};
    rule_set(request, 0, DTYPE_INT64, &shape);
    return NULL;
}

Error *shape_rule_random(PlanRequest *request) {
    uint32_t count;
    const int64_t *dims = attributes_ints(request->attributes, "shape", &count);
    DType dtype = attributes_dtype(request->attributes, "dtype");
    if (!(DTYPES_FLOAT & DTYPE_BIT(dtype))) FAIL(INVALID, "dtype %s", dtype_name(dtype));
    if (count > SHAPE_RANK_MAX) FAIL(INVALID, "a shape of rank %u", count);
    Shape shape = shape_make(count, dims);
    rule_set(request, 0, dtype, &shape);
    return NULL;
}
