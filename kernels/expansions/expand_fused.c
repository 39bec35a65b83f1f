/* The compiler's own operators: matrix products and convolutions with their epilogues, elementwise
 * programs, Append. */
#include "kernels/operator/activation.h"
#include "kernels/expansions/expand_fused.h"
#include "kernels/planning/pointwise_program.h"

static Error *add_clip(ExpansionBuilder *builder, uint32_t value, uint32_t *out) {
    const Attributes *attributes = builder->request->attributes;
    const DType dtype = builder->request->inputs[0].dtype;
    uint32_t clip[3] = {value};
    TRY(expansion_scalar(
        builder, dtype, attributes_float(attributes, "activation_alpha"), &clip[1]));
    TRY(expansion_scalar(
        builder, dtype, attributes_float(attributes, "activation_beta"), &clip[2]));
    return expansion_call(builder, (ExpansionCall){OPERATOR_CLIP, NULL, 3, clip, 1}, out);
}

static Error *add_with_alpha(
    ExpansionBuilder *builder, OperatorId id, uint32_t value, uint32_t *out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(
        attributes, "alpha", attributes_float(builder->request->attributes, "activation_alpha")));
    return expansion_call(builder, (ExpansionCall){id, TAKE(attributes), 1, &value, 1}, out);
}

static Error *add_scaled_hard_swish(ExpansionBuilder *builder, uint32_t value, uint32_t *out) {
    const Attributes *attributes = builder->request->attributes;
    const DType dtype = builder->request->inputs[0].dtype;
    uint32_t alpha, beta;
    TRY(expansion_scalar(builder, dtype, attributes_float(attributes, "activation_alpha"), &alpha));
    TRY(expansion_scalar(builder, dtype, attributes_float(attributes, "activation_beta"), &beta));
    TRY(expansion_unary(builder, OPERATOR_HARD_SWISH, value, out));
    TRY(expansion_binary(builder, OPERATOR_MUL, *out, alpha, out));
    return expansion_binary(builder, OPERATOR_ADD, *out, beta, out);
}

static Error *add_activation(ExpansionBuilder *builder, uint32_t value, uint32_t *out) {
    Activation activation;
    *out = value;
    TRY(activation_of(builder->request->attributes, &activation));
    switch (activation) {
    case ACTIVATION_NONE:
    case ACTIVATION_COUNT:
        return NULL;
    case ACTIVATION_RELU:
        return expansion_unary(builder, OPERATOR_RELU, value, out);
    case ACTIVATION_LEAKY_RELU:
        return add_with_alpha(builder, OPERATOR_LEAKY_RELU, value, out);
    case ACTIVATION_CLIP:
        return add_clip(builder, value, out);
    case ACTIVATION_TANH:
        return expansion_unary(builder, OPERATOR_TANH, value, out);
    case ACTIVATION_SIGMOID:
        return expansion_unary(builder, OPERATOR_SIGMOID, value, out);
    case ACTIVATION_HARD_SWISH:
        return expansion_unary(builder, OPERATOR_HARD_SWISH, value, out);
    case ACTIVATION_SCALED_HARD_SWISH:
        return add_scaled_hard_swish(builder, value, out);
    case ACTIVATION_SWISH:
        return add_with_alpha(builder, OPERATOR_SWISH, value, out);
    case ACTIVATION_MISH:
        return expansion_unary(builder, OPERATOR_MISH, value, out);
    case ACTIVATION_GELU_ERF:
        return expansion_unary(builder, OPERATOR_GELU, value, out);
    case ACTIVATION_GELU_TANH:
        return expansion_call_text(
            builder, OPERATOR_GELU, "{approximate=\"tanh\"}", &value, 1, out);
    }
    return NULL;
}

/* Adds bias or residual if present. Neither widens the result. */
static Error *add_term(ExpansionBuilder *builder, uint32_t index, uint32_t *inout_value) {
    const uint32_t term = expansion_input(builder, index);
    if (term == EXPANSION_ABSENT) return NULL;
    const TensorSpec before = expansion_spec(builder, *inout_value);
    TRY(expansion_binary(builder, OPERATOR_ADD, *inout_value, term, inout_value));
    const TensorSpec after = expansion_spec(builder, *inout_value);
    if (!shape_equal(&before.shape, &after.shape))
        FAIL(INVALID, "bias or residual does not fit the result");
    return NULL;
}

Error *expand_fused_epilogue(
    ExpansionBuilder *builder, uint32_t bias, uint32_t residual, uint32_t *inout_value) {
    TRY(add_term(builder, bias, inout_value));
    TRY(add_term(builder, residual, inout_value));
    return add_activation(builder, *inout_value, inout_value);
}

Error *expand_fused_conv(ExpansionBuilder *builder) {
    const bool last = attributes_int(builder->request->attributes, "channels_last") != 0;
    OWN(Attributes, attributes) = NULL;
    uint32_t inputs[3] = {0, 1, expansion_input(builder, 2)}, value;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        builder->request->attributes, operator_get(OPERATOR_CONV), attributes));
    if (last) TRY(expansion_channels_first(builder, &inputs[0]));
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_CONV, TAKE(attributes), 3, inputs, 1}, &value));
    if (last) TRY(expansion_channels_last(builder, &value));
    TRY(add_term(builder, 3, &value));
    TRY(add_activation(builder, value, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

Error *expand_fused_qlinear_conv(ExpansionBuilder *builder) {
    enum { INPUTS = 9 };
    const bool last = attributes_int(builder->request->attributes, "channels_last") != 0;
    OWN(Attributes, attributes) = NULL;
    uint32_t inputs[INPUTS], value;
    for (uint32_t i = 0; i < INPUTS; i++) inputs[i] = expansion_input(builder, i);
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        builder->request->attributes, operator_get(OPERATOR_QLINEAR_CONV), attributes));
    if (last) TRY(expansion_channels_first(builder, &inputs[0]));
    TRY(expansion_call(builder,
        (ExpansionCall){OPERATOR_QLINEAR_CONV, TAKE(attributes), INPUTS, inputs, 1}, &value));
    if (last) TRY(expansion_channels_last(builder, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

Error *expand_fused_matmul(ExpansionBuilder *builder) {
    const Attributes *attributes = builder->request->attributes;
    const double alpha = attributes_float(attributes, "alpha");
    uint32_t value = 0, other = 1, scale;
    if (attributes_int(attributes, "transA")) TRY(expansion_swap(builder, &value));
    if (attributes_int(attributes, "transB")) TRY(expansion_swap(builder, &other));
    TRY(expansion_binary(builder, OPERATOR_MATMUL, value, other, &value));
    if (alpha != 1) {
        TRY(expansion_scalar(builder, builder->request->inputs[0].dtype, alpha, &scale));
        TRY(expansion_binary(builder, OPERATOR_MUL, value, scale, &value));
    }
    TRY(expand_fused_epilogue(builder, 2, 3, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

Error *expand_append(ExpansionBuilder *builder) {
    static const uint32_t inputs[2] = {0, 1};
    uint32_t value;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(
        builder->request->attributes, operator_get(OPERATOR_CONCAT), attributes));
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_CONCAT, TAKE(attributes), 2, inputs, 1}, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* constant_dtype: the element type of the step's constants, whose values are in `constants`. */
static Error *add_step(ExpansionBuilder *builder, const PointwiseStep *step, DType constant_dtype,
    const double *constants, const uint32_t *steps, uint32_t *out) {
    uint32_t inputs[POINTWISE_OPERANDS_MAX];
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const PointwiseOperand *operand = &step->operands[i];
        switch (operand->kind) {
        case POINTWISE_INPUT:
            inputs[i] = operand->index;
            break;
        case POINTWISE_STEP:
            inputs[i] = steps[operand->index];
            break;
        case POINTWISE_CONSTANT:
            TRY(expansion_scalar(builder, constant_dtype, constants[operand->index], &inputs[i]));
            break;
        }
    }
    return expansion_call(builder,
        (ExpansionCall){step->operator_info->id, attributes_retain(step->attributes),
            step->operand_count, inputs, 1},
        out);
}

Error *expand_fused_elementwise(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    OWN(PointwiseProgram, program) = NULL;
    TensorSpec specs[POINTWISE_STEPS_MAX];
    DType dtypes[POINTWISE_STEPS_MAX];
    uint32_t steps[POINTWISE_STEPS_MAX], constant_count;
    const double *constants = attributes_floats(request->attributes, "constants", &constant_count);
    TRY(pointwise_program_of(request, &program));
    TRY(pointwise_program_infer(program, request->inputs, specs, dtypes));
    for (uint32_t i = 0; i < program->step_count; i++)
        TRY(add_step(builder, &program->steps[i], dtypes[i], constants, steps, &steps[i]));
    expansion_set_output(builder, 0, steps[program->step_count - 1]);
    return NULL;
}
