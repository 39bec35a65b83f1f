#include <inttypes.h>

#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* Reduced dimensions become 1 or are removed. */
static Shape shrink(const Shape *input, const bool *reduced, bool keep_dims) {
    Shape shape = {0};
    for (uint32_t i = 0; i < input->rank; i++)
        if (!reduced[i])
            shape.dims[shape.rank++] = input->dims[i];
        else if (keep_dims)
            shape.dims[shape.rank++] = 1;
    return shape;
}

static Error *reduce(PlanRequest *request, DTypeSet dtypes) {
    ReduceArguments arguments;
    TRY(rule_check_dtype(request, 0, dtypes));
    TRY(arguments_reduce(request, &arguments));
    Shape shape = shrink(rule_shape(request, 0), arguments.reduced, arguments.keep_dims);
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_reduce(PlanRequest *request) { return reduce(request, DTYPES_NUMBER); }
Error *shape_rule_reduce_extreme(PlanRequest *request) {
    return reduce(request, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL));
}

Error *shape_rule_reduce_log(PlanRequest *request) { return reduce(request, DTYPES_FLOAT); }

Error *shape_rule_arg_reduce(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(arguments_axis(request, &axis));
    if (rule_shape(request, 0)->dims[axis] == 0) FAIL(INVALID, "nothing along axis %u", axis);
    bool reduced[SHAPE_RANK_MAX] = {false};
    reduced[axis] = true;
    bool keep_dims = attributes_int(request->attributes, "keepdims") != 0;
    Shape shape = shrink(rule_shape(request, 0), reduced, keep_dims);
    rule_set(request, 0, DTYPE_INT64, &shape);
    return NULL;
}

Error *shape_rule_top_k(PlanRequest *request) {
    uint32_t axis;
    int64_t k;
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64)));
    TRY(arguments_axis(request, &axis));
    TRY(arguments_int(request, 1, &k));
    Shape shape = *rule_shape(request, 0);
    if (k < 0 || k > shape.dims[axis])
        FAIL(INVALID, "k %" PRId64 " of %" PRId64 " elements", k, shape.dims[axis]);
    shape.dims[axis] = k;
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    rule_set(request, 1, DTYPE_INT64, &shape);
    return NULL;
}

Error *shape_rule_cum_sum(PlanRequest *request) {
    int64_t axis;
    uint32_t resolved;
    TRY(rule_check_dtype(request, 0, DTYPES_NUMBER));
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)));
    TRY(arguments_int(request, 1, &axis));
    TRY(shape_axis(axis, rule_shape(request, 0)->rank, &resolved));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_softmax(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(arguments_axis(request, &axis));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}
