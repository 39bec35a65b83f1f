/* Random operators that compare or shape the numbers of RandomUniform and RandomNormal. */
#include "kernels/shape_rules/expansion_builder.h"

/* Draws a tensor of the shape. Consumes the attributes, which lack shape and dtype. */
static Error *add_draw(ExpansionBuilder *builder, OperatorId operator_id,
    Attributes *owned_attributes, const Shape *shape, DType dtype, uint32_t *out) {
    OWN(Attributes, attributes) = owned_attributes;
    TRY(attributes_set_ints(attributes, "shape", shape->dims, shape->rank));
    TRY(attributes_set_dtype(attributes, "dtype", dtype));
    return expansion_call(builder, (ExpansionCall){operator_id, TAKE(attributes), 0, NULL, 1}, out);
}

/* The attribute dtype, or by default the element type of input 0. */
static DType asked_dtype(const PlanRequest *request) {
    return attributes_has(request->attributes, "dtype")
               ? attributes_dtype(request->attributes, "dtype")
               : request->inputs[0].dtype;
}

static Error *expand_like(ExpansionBuilder *builder, OperatorId operator_id) {
    const PlanRequest *request = builder->request;
    OWN(Attributes, attributes) = NULL;
    uint32_t value;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(request->attributes, operator_get(operator_id), attributes));
    TRY(add_draw(builder, operator_id, TAKE(attributes), &request->inputs[0].shape,
        asked_dtype(request), &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

Error *expand_random_uniform_like(ExpansionBuilder *builder) {
    return expand_like(builder, OPERATOR_RANDOM_UNIFORM);
}

Error *expand_random_normal_like(ExpansionBuilder *builder) {
    return expand_like(builder, OPERATOR_RANDOM_NORMAL);
}

/* Numbers of [0, 1), which float64 alone holds: rounded to fewer bits the largest is 1. */
static Error *add_uniform(ExpansionBuilder *builder, Attributes *owned_attributes, uint32_t *out) {
    return add_draw(builder, OPERATOR_RANDOM_UNIFORM, owned_attributes,
        &builder->request->inputs[0].shape, DTYPE_FLOAT64, out);
}

/* 1 where a number drawn is below the probability. */
Error *expand_bernoulli(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    const DType given = request->inputs[0].dtype;
    OWN(Attributes, attributes) = NULL;
    uint32_t drawn, probability, value;
    if (!(DTYPES_FLOAT & DTYPE_BIT(given))) FAIL(INVALID, "probabilities of %s", dtype_name(given));
    if (!((DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)) & DTYPE_BIT(asked_dtype(request))))
        FAIL(INVALID, "dtype %s", dtype_name(asked_dtype(request)));
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        request->attributes, operator_get(OPERATOR_RANDOM_UNIFORM), attributes));
    TRY(add_uniform(builder, TAKE(attributes), &drawn));
    TRY(expansion_cast(builder, 0, DTYPE_FLOAT64, &probability));
    TRY(expansion_binary(builder, OPERATOR_LESS, drawn, probability, &value));
    TRY(expansion_cast(builder, value, asked_dtype(request), &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* ---- dropout ---- */

static Error *read_ratio(const PlanRequest *request) {
    if (!plan_request_has(request, 1)) return NULL;
    const TensorSpec *ratio = &request->inputs[1];
    if (ratio->shape.rank != 0) FAIL(INVALID, "a ratio of rank %u", ratio->shape.rank);
    if (!(DTYPES_FLOAT & DTYPE_BIT(ratio->dtype)))
        FAIL(INVALID, "a ratio of %s", dtype_name(ratio->dtype));
    return NULL;
}

static Error *read_training(const PlanRequest *request, bool *out) {
    *out = false;
    if (!plan_request_has(request, 2)) return NULL;
    const TensorSpec *mode = &request->inputs[2];
    if (mode->dtype != DTYPE_BOOL || mode->shape.rank != 0)
        FAIL(INVALID, "training_mode of rank %u and element type %s", mode->shape.rank,
            dtype_name(mode->dtype));
    *out = *(const uint8_t *)request->values[2] != 0;
    return NULL;
}

/* Inference keeps every element. */
static Error *expand_inference(ExpansionBuilder *builder) {
    const Shape shape = builder->request->inputs[0].shape;
    uint32_t inputs[2], mask;
    expansion_set_output(builder, 0, 0);
    if (!expansion_wants(builder, 1)) return NULL;
    TRY(expansion_scalar(builder, DTYPE_BOOL, 1, &inputs[0]));
    TRY(expansion_ints(builder, shape.dims, shape.rank, &inputs[1]));
    TRY(expansion_call(builder, (ExpansionCall){OPERATOR_EXPAND, NULL, 2, inputs, 1}, &mask));
    expansion_set_output(builder, 1, mask);
    return NULL;
}

/* Keeps an element, times 1 / (1 - ratio), if its random number is at least the ratio. */
static Error *expand_training(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    const DType dtype = request->inputs[0].dtype;
    const DType wide = dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    OWN(Attributes, attributes) = NULL;
    uint32_t drawn, ratio = expansion_input(builder, 1), mask, value, one, zero, factor;
    TRY(attributes_create(&attributes));
    if (attributes_has(request->attributes, "seed"))
        TRY(attributes_set_float(
            attributes, "seed", (double)attributes_int(request->attributes, "seed")));
    TRY(add_uniform(builder, TAKE(attributes), &drawn));
    if (ratio == EXPANSION_ABSENT) TRY(expansion_scalar(builder, DTYPE_FLOAT64, 0.5, &ratio));
    TRY(expansion_cast(builder, ratio, DTYPE_FLOAT64, &ratio));
    TRY(expansion_binary(builder, OPERATOR_GREATER_OR_EQUAL, drawn, ratio, &mask));
    TRY(expansion_scalar(builder, DTYPE_FLOAT64, 1, &one));
    TRY(expansion_scalar(builder, wide, 0, &zero));
    TRY(expansion_binary(builder, OPERATOR_SUB, one, ratio, &factor));
    TRY(expansion_unary(builder, OPERATOR_RECIPROCAL, factor, &factor));
    TRY(expansion_cast(builder, factor, wide, &factor));
    TRY(expansion_cast(builder, 0, wide, &value));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, factor, &value));
    TRY(expansion_where(builder, mask, value, zero, &value));
    TRY(expansion_cast(builder, value, dtype, &value));
    expansion_set_output(builder, 0, value);
    expansion_set_output(builder, 1, mask);
    return NULL;
}

Error *expand_training_dropout(ExpansionBuilder *builder) {
    const DTypeSet floats = DTYPES_FLOAT | DTYPE_BIT(DTYPE_FLOAT8E4M3FN) |
                            DTYPE_BIT(DTYPE_FLOAT8E4M3FNUZ) | DTYPE_BIT(DTYPE_FLOAT8E5M2) |
                            DTYPE_BIT(DTYPE_FLOAT8E5M2FNUZ);
    const PlanRequest *request = builder->request;
    bool is_training;
    if (!(floats & DTYPE_BIT(request->inputs[0].dtype)))
        FAIL(INVALID, "input 0 is %s", dtype_name(request->inputs[0].dtype));
    TRY(read_ratio(request));
    TRY(read_training(request, &is_training));
    return is_training ? expand_training(builder) : expand_inference(builder);
}
