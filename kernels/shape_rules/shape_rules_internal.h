#pragma once
/* Small checks and steps that the files shape_*.c share. Pure: no state. */
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
/* Errors: INVALID if present input `index` has another element type. */
MUST_CHECK Error *rule_check_dtype(const PlanRequest *request, uint32_t index, DTypeSet dtypes);
/* Errors: INVALID if a present input has another element type than input `as`. */
MUST_CHECK Error *rule_check_same_dtype(const PlanRequest *request, uint32_t index, uint32_t as);
MUST_CHECK Error *rule_check_rank(const PlanRequest *request, uint32_t index, uint32_t rank);
/* Checks that present input `index` has exactly these dimensions. */
MUST_CHECK Error *rule_check_shape(
    const PlanRequest *request, uint32_t index, uint32_t rank, const int64_t *dims);
/* Sets the result of a product or convolution at lower precision, float32, and checks the operands
 * after the weights: up to input `bias` one value for each element of the last dimension, then a
 * residual. */
MUST_CHECK Error *rule_set_lower(PlanRequest *request, uint32_t bias, const Shape *shape);
/* Appends dimensions. Errors: INVALID beyond SHAPE_RANK_MAX. */
MUST_CHECK Error *rule_push(Shape *inout_shape, int64_t dim);
MUST_CHECK Error *rule_push_dims(
    Shape *inout_shape, const Shape *from, uint32_t begin, uint32_t end);
/* Infers the outputs from the operator's expansion. */
MUST_CHECK Error *rule_by_expansion(PlanRequest *request);
