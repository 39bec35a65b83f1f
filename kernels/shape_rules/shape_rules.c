#include "kernels/shape_rules/shape_rules_internal.h"

#include <string.h>

#include "kernels/shape_rules/operator_expansion.h"

void rule_set(PlanRequest *request, uint32_t output, DType dtype, const Shape *shape) {
    if (output >= request->output_count) return;
    request->outputs[output] = (TensorSpec){.present = true, .dtype = dtype};
    for (uint32_t i = 0; i < shape->rank; i++)
        request->outputs[output].shape.dims[i] = shape->dims[i];
    request->outputs[output].shape.rank = shape->rank;
}

Error *rule_check_dtype(const PlanRequest *request, uint32_t index, DTypeSet dtypes) {
    if (!rule_has(request, index) || dtypes & DTYPE_BIT(rule_dtype(request, index))) return NULL;
    FAIL(INVALID, "input %u is %s", index, dtype_name(rule_dtype(request, index)));
}

Error *rule_check_same_dtype(const PlanRequest *request, uint32_t index, uint32_t as) {
    if (!rule_has(request, index) || rule_dtype(request, index) == rule_dtype(request, as))
        return NULL;
    FAIL(INVALID, "input %u is %s, input %u is %s", as, dtype_name(rule_dtype(request, as)), index,
        dtype_name(rule_dtype(request, index)));
}

Error *rule_check_rank(const PlanRequest *request, uint32_t index, uint32_t rank) {
    if (!rule_has(request, index) || rule_shape(request, index)->rank == rank) return NULL;
    FAIL(INVALID, "input %u has rank %u, not %u", index, rule_shape(request, index)->rank, rank);
}

Error *rule_check_shape(
    const PlanRequest *request, uint32_t index, uint32_t rank, const int64_t *dims) {
    if (!rule_has(request, index)) return NULL;
    Shape wanted = shape_make(rank, dims);
    if (shape_equal(rule_shape(request, index), &wanted)) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(rule_shape(request, index), &text);
    text_append(&text, ", not ");
    shape_print(&wanted, &text);
    FAIL(INVALID, "input %u has shape %s", index, text_builder_get(&text));
}

Error *rule_set_lower(PlanRequest *request, uint32_t bias, const Shape *shape) {
    const int64_t *columns = &shape->dims[shape->rank - 1];
    for (uint32_t i = 2; i <= bias + 1; i++)
        TRY(rule_check_dtype(request, i, DTYPE_BIT(DTYPE_FLOAT32)));
    for (uint32_t i = 2; i <= bias; i++) TRY(rule_check_shape(request, i, 1, columns));
    TRY(rule_check_shape(request, bias + 1, shape->rank, shape->dims));
    rule_set(request, 0, DTYPE_FLOAT32, shape);
    return NULL;
}

Error *rule_push(Shape *inout_shape, int64_t dim) {
    if (inout_shape->rank == SHAPE_RANK_MAX)
        FAIL(INVALID, "a result of rank above %d", SHAPE_RANK_MAX);
    inout_shape->dims[inout_shape->rank++] = dim;
    return NULL;
}

Error *rule_push_dims(Shape *inout_shape, const Shape *from, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) TRY(rule_push(inout_shape, from->dims[i]));
    return NULL;
}

Error *rule_by_expansion(PlanRequest *request) {
    OWN(Expansion, expansion) = NULL;
    TRY(operator_expansion_create(request, &expansion));
    for (uint32_t i = 0; i < request->output_count; i++) {
        const TensorSpec *output = &expansion->values[expansion->outputs[i]].spec;
        rule_set(request, i, output->dtype, &output->shape);
    }
    return NULL;
}

/* The rule of operators whose expansion checks the inputs. */
Error *shape_rule_expansion(PlanRequest *request) { return rule_by_expansion(request); }
