/* Normalizations over groups of channels and over axes. */
#include <inttypes.h>

#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* scale and bias have one element for each channel. */
Error *shape_rule_group_normalization(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    if (input->rank < 2) FAIL(INVALID, "an input of rank %u", input->rank);
    for (uint32_t i = 1; i < 3; i++) {
        TRY(rule_check_same_dtype(request, i, 0));
        TRY(rule_check_shape(request, i, 1, &input->dims[1]));
    }
    int64_t groups = attributes_int(request->attributes, "num_groups");
    if (groups < 1 || input->dims[1] % groups != 0)
        FAIL(INVALID, "%" PRId64 " channels in %" PRId64 " groups", input->dims[1], groups);
    rule_set(request, 0, rule_dtype(request, 0), input);
    return NULL;
}

Error *shape_rule_mean_variance_normalization(PlanRequest *request) {
    bool reduced[SHAPE_RANK_MAX];
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(arguments_axes(request, reduced));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_lp_normalization(PlanRequest *request) {
    uint32_t axis;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(arguments_axis(request, &axis));
    int64_t p = attributes_int(request->attributes, "p");
    if (p != 1 && p != 2) FAIL(INVALID, "p %" PRId64, p);
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}
