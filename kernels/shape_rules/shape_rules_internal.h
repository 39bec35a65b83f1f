#pragma once
/* Small steps that shape rules share. */
#include "kernels/shape_rules/shape_rules.h"

static inline bool rule_has(const PlanRequest *request, uint32_t index) {
    return index < request->input_count && request->inputs[index].present;
}
static inline const Shape *rule_shape(const PlanRequest *request, uint32_t index) {
    return &request->inputs[index].shape;
}
static inline DType rule_dtype(const PlanRequest *request, uint32_t index) {
    return request->inputs[index].dtype;
}
/* Does nothing for an output that is not wanted. */
void rule_set(PlanRequest *request, uint32_t output, DType dtype, const Shape *shape);
/* Errors: INVALID when present input `index` is none of the element types. */
MUST_CHECK Error *rule_check_dtype(const PlanRequest *request, uint32_t index, DTypeSet dtypes);
/* Errors: INVALID when a present input has another element type than input `as`. */
MUST_CHECK Error *rule_check_same_dtype(const PlanRequest *request, uint32_t index, uint32_t as);
MUST_CHECK Error *rule_check_rank(const PlanRequest *request, uint32_t index, uint32_t rank);
/* Present input `index` has exactly these dimensions. */
MUST_CHECK Error *rule_check_shape(
    const PlanRequest *request, uint32_t index, uint32_t rank, const int64_t *dims);
/* The result of a product or convolution at lower precision, float32, when the operands behind the
 * weights fit it: up to input `bias` one for each of its last dimension, then a residual. */
MUST_CHECK Error *rule_set_lower(PlanRequest *request, uint32_t bias, const Shape *shape);
/* Errors: INVALID beyond SHAPE_RANK_MAX. */
MUST_CHECK Error *rule_push(Shape *inout_shape, int64_t dim);
MUST_CHECK Error *rule_push_dims(
    Shape *inout_shape, const Shape *from, uint32_t begin, uint32_t end);
/* The outputs of the operator's expansion. */
MUST_CHECK Error *rule_by_expansion(PlanRequest *request);
