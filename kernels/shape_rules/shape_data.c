/* Operators whose output shapes depend on the data, except NonZero. */
#include <inttypes.h>

#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* Without an axis the input counts as one row of elements. */
static Error *flatten_without_axis(const PlanRequest *request, Shape *out, uint32_t *out_axis) {
    const Shape *input = rule_shape(request, 0);
    *out_axis = 0;
    if (attributes_has(request->attributes, "axis")) {
        *out = *input;
        return arguments_axis(request, out_axis);
    }
    *out = (Shape){.rank = 1};
    return shape_count(input, &out->dims[0]);
}

Error *shape_rule_compress(PlanRequest *request) {
    Shape shape;
    uint32_t axis;
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_BOOL)));
    TRY(rule_check_rank(request, 1, 1));
    TRY(flatten_without_axis(request, &shape, &axis));
    if (rule_shape(request, 1)->dims[0] > shape.dims[axis])
        FAIL(INVALID, "%" PRId64 " conditions for %" PRId64 " elements",
            rule_shape(request, 1)->dims[0], shape.dims[axis]);
    shape.dims[axis] = -1;
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_unique(PlanRequest *request) {
    Shape shape, found = {.rank = 1, .dims = {-1}};
    uint32_t axis;
    TRY(rule_check_dtype(
        request, 0, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL) | DTYPE_BIT(DTYPE_STRING)));
    TRY(flatten_without_axis(request, &shape, &axis));
    Shape all = {.rank = 1, .dims = {shape.dims[axis]}};
    shape.dims[axis] = -1;
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    rule_set(request, 1, DTYPE_INT64, &found);
    rule_set(request, 2, DTYPE_INT64, &all);
    rule_set(request, 3, DTYPE_INT64, &found);
    return NULL;
}
