/* Operators that ONNX lacks: front ends build them for forms of ONNX's operators that need another
 * shape rule. */
#include <inttypes.h>

#include "base/checked.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/arguments/arguments.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* Appends ones to the dimensions of input 0, so that its first dimension is at the axis of input
 * 1. */
Error *shape_rule_align_axes(PlanRequest *request) {
    const Shape *as = rule_shape(request, 1);
    Shape shape = *rule_shape(request, 0);
    int64_t axis = attributes_int(request->attributes, "axis");
    if (axis < 0) axis += as->rank;
    if (axis < 0 || axis > (int64_t)as->rank - (int64_t)shape.rank)
        FAIL(INVALID, "axis %" PRId64 " for rank %u within rank %u",
            attributes_int(request->attributes, "axis"), shape.rank, as->rank);
    while (shape.rank < as->rank - (uint32_t)axis) TRY(rule_push(&shape, 1));
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

/* Checks that the lengths of all pieces add up to the dimension. */
static Error *check_lengths(const PlanRequest *request, int64_t dim, int64_t *out_count) {
    const TensorSpec *split = &request->inputs[1];
    int64_t sum = 0, count = shape_count_unchecked(&split->shape);
    const char *values = count ? request->values[1] : NULL;
    for (int64_t i = 0; i < count; i++) {
        int64_t length = -1;
        (void)dtype_scalar_read_int(
            split->dtype, values + i * (dtype_bits(split->dtype) / 8), &length);
        if (length < 0) FAIL(INVALID, "split %" PRId64 " is %" PRId64, i, length);
        if (!checked_add_i64(sum, length, &sum)) FAIL(INVALID, "the splits are too large");
    }
    if (sum != dim)
        FAIL(INVALID, "splits of %" PRId64 " together for a dimension of %" PRId64, sum, dim);
    *out_count = count;
    return NULL;
}

/* Reads the dimension to cut from the shape in input 0. */
static Error *read_dimension(const PlanRequest *request, int64_t *out) {
    Shape shape = {0};
    uint32_t axis;
    int64_t count;
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_INT64)));
    TRY(arguments_ints(request, 0, SHAPE_RANK_MAX, shape.dims, &shape.rank));
    TRY(shape_count(&shape, &count));
    TRY(shape_axis(attributes_int(request->attributes, "axis"), shape.rank, &axis));
    *out = shape.dims[axis];
    return NULL;
}

Error *arguments_split_pieces(
    const PlanRequest *request, int64_t *out_dim, int64_t *out_step, int64_t *out_count) {
    int64_t dim;
    TRY(read_dimension(request, &dim));
    *out_dim = dim;
    *out_step = 1;
    *out_count = dim;
    if (!plan_request_has(request, 1)) return NULL;
    TRY(rule_check_dtype(request, 1, DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_INT32)));
    const Shape *shape = &request->inputs[1].shape;
    if (shape->rank > 1) FAIL(INVALID, "input 1 has rank %u", shape->rank);
    *out_step = 0;
    if (shape->rank == 1) return check_lengths(request, dim, out_count);
    TRY(arguments_int(request, 1, out_step));
    if (*out_step < 1) FAIL(INVALID, "pieces of %" PRId64, *out_step);
    *out_count = dim / *out_step + (dim % *out_step != 0);
    return NULL;
}

/* The start of each piece of the axis, and the end of the last one. */
Error *shape_rule_split_bounds(PlanRequest *request) {
    int64_t dim, step, count;
    TRY(arguments_split_pieces(request, &dim, &step, &count));
    Shape shape = {.rank = 1, .dims = {count + 1}};
    rule_set(request, 0, DTYPE_INT64, &shape);
    return NULL;
}

/* Checks that the keys are a vector of the elements' type. */
Error *shape_rule_lookup(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0,
        DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64) | DTYPE_BIT(DTYPE_INT32) |
            DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_STRING)));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_rank(request, 1, 1));
    rule_set(request, 0, DTYPE_INT64, rule_shape(request, 0));
    return NULL;
}

/* ---- SvmCouple ---- */

Error *shape_rule_svm_couple(PlanRequest *request) {
    enum { CLASSES_MAX = 4096 };
    const int64_t classes = attributes_int(request->attributes, "classes");
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32)));
    TRY(rule_check_rank(request, 0, 2));
    Shape shape = *rule_shape(request, 0);
    if (classes < 2 || classes > CLASSES_MAX)
        FAIL(INVALID, "%" PRId64 " classes; 2 to %d can be coupled", classes, CLASSES_MAX);
    if (shape.dims[1] != classes * (classes - 1) / 2)
        FAIL(INVALID, "%" PRId64 " pairs of %" PRId64 " classes", shape.dims[1], classes);
    shape.dims[1] = classes;
    rule_set(request, 0, DTYPE_FLOAT32, &shape);
    return NULL;
}

/* ---- TreeScores ---- */

/* Sizes that no list of one entry could have. */
static Error *check_sizes(const PlanRequest *request) {
    if (rule_shape(request, 0)->dims[1] < 1) FAIL(INVALID, "rows without columns");
    if (rule_shape(request, 1)->dims[0] < 1) FAIL(INVALID, "no nodes");
    if (rule_shape(request, 7)->dims[0] < 1) FAIL(INVALID, "no scores");
    for (uint32_t i = 1; i < request->input_count; i++)
        if (rule_shape(request, i)->dims[0] > INT32_MAX)
            FAIL(INVALID, "input %u has %" PRId64 " entries", i, rule_shape(request, i)->dims[0]);
    return NULL;
}

Error *shape_rule_tree_scores(PlanRequest *request) {
    static const uint32_t ranks[] = {2, 2, 2, 1, 1, 1, 1, 1};
    const bool floats[] = {true, true, false, false, false, false, true, true};
    TreeAggregate aggregate;
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64)));
    for (uint32_t i = 0; i < 8; i++) {
        TRY(rule_check_rank(request, i, ranks[i]));
        TRY(floats[i] ? rule_check_same_dtype(request, i, 0)
                      : rule_check_dtype(request, i, DTYPE_BIT(DTYPE_INT32)));
    }
    const int64_t nodes = rule_shape(request, 1)->dims[0];
    const int64_t weights = rule_shape(request, 5)->dims[0], after = nodes + 1;
    TRY(check_sizes(request));
    TRY(rule_check_shape(request, 1, 2, (const int64_t[]){nodes, 2}));
    TRY(rule_check_shape(request, 2, 2, (const int64_t[]){nodes, 2}));
    TRY(rule_check_shape(request, 4, 1, &after));
    TRY(rule_check_shape(request, 6, 1, &weights));
    TRY(arguments_tree_aggregate(request, &aggregate));
    if (attributes_int(request->attributes, "depth") < 0)
        FAIL(INVALID, "depth %" PRId64, attributes_int(request->attributes, "depth"));
    Shape shape = {
        .rank = 2, .dims = {rule_shape(request, 0)->dims[0], rule_shape(request, 7)->dims[0]}};
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}
