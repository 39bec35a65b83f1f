#include "kernels/operator_expansion.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/activation.h"

void operator_expansion_release(Expansion *expansion) {
    if (!expansion) return;
    for (uint32_t i = 0; i < expansion->node_count; i++)
        attributes_release(expansion->nodes[i].attributes);
    memory_free(expansion);
}

TensorSpec operator_expansion_spec(
    const Expansion *expansion, const TensorSpec *inputs, uint32_t value) {
    if (value < expansion->input_count) return inputs[value];
    value -= expansion->input_count;
    if (value < expansion->constant_count)
        return (TensorSpec){.present = true, .dtype = expansion->constants[value].dtype};
    return expansion->nodes[value - expansion->constant_count].output;
}

/* Constants are counted before the first node, so that values can be numbered at once. */
static uint32_t node_value(const Expansion *expansion, uint32_t node) {
    return expansion->input_count + expansion->constant_count + node;
}

static uint32_t add_constant(Expansion *expansion, DType dtype, double value) {
    assert(expansion->node_count == 0 && expansion->constant_count < EXPANSION_CONSTANTS_MAX);
    expansion->constants[expansion->constant_count] = (ExpansionConstant){dtype, value};
    return expansion->input_count + expansion->constant_count++;
}

static Error *infer_node(Expansion *expansion, ExpansionNode *node) {
    TensorSpec inputs[EXPANSION_NODE_INPUTS_MAX];
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = operator_expansion_spec(expansion, expansion->inputs, node->inputs[i]);
    void *block;
    TRY(memory_alloc(1, sizeof(PlanRequest), &block));
    PlanRequest *request = block;
    request->operator_info = node->operator_info;
    request->attributes = node->attributes;
    request->input_count = node->input_count;
    request->output_count = 1;
    request->inputs = inputs;
    Error *error = operator_infer(request);
    node->output = request->outputs[0];
    memory_free(block);
    return error;
}

/* Appends a node; its value goes to *out. attributes NULL: the defaults. Consumes them. */
static Error *add_node(Expansion *expansion, OperatorId id, Attributes *owned_attributes,
    const uint32_t *inputs, uint32_t input_count, uint32_t *out) {
    OWN(Attributes, attributes) = owned_attributes;
    assert(expansion->node_count < EXPANSION_NODES_MAX);
    if (!attributes) TRY(attributes_create(&attributes));
    ExpansionNode *node = &expansion->nodes[expansion->node_count];
    *node = (ExpansionNode){.operator_info = operator_get(id), .input_count = input_count};
    TRY(attributes_check(attributes, node->operator_info));
    node->attributes = attributes;
    memcpy(node->inputs, inputs, input_count * sizeof inputs[0]);
    TRY(infer_node(expansion, node));
    (void)TAKE(attributes);
    *out = node_value(expansion, expansion->node_count++);
    return NULL;
}

static Error *add_unary(Expansion *expansion, OperatorId id, uint32_t *inout_value) {
    return add_node(expansion, id, NULL, inout_value, 1, inout_value);
}

static Error *add_binary(
    Expansion *expansion, OperatorId id, uint32_t *inout_value, uint32_t other) {
    uint32_t inputs[2] = {*inout_value, other};
    return add_node(expansion, id, NULL, inputs, 2, inout_value);
}

/* The limits of clip, numbered before the nodes. */
typedef struct ActivationConstants {
    uint32_t low;
    uint32_t high;
} ActivationConstants;

static Error *prepare_activation(Expansion *expansion, const PlanRequest *request,
    Activation *out_activation, ActivationConstants *out_constants) {
    TRY(activation_of(request->attributes, out_activation));
    if (*out_activation != ACTIVATION_CLIP) return NULL;
    DType dtype = request->inputs[0].dtype;
    const Attributes *attributes = request->attributes;
    out_constants->low =
        add_constant(expansion, dtype, attributes_float(attributes, "activation_alpha"));
    out_constants->high =
        add_constant(expansion, dtype, attributes_float(attributes, "activation_beta"));
    return NULL;
}

static Error *add_leaky_relu(
    Expansion *expansion, const PlanRequest *request, uint32_t *inout_value) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(
        attributes, "alpha", attributes_float(request->attributes, "activation_alpha")));
    return add_node(expansion, OPERATOR_LEAKY_RELU, TAKE(attributes), inout_value, 1, inout_value);
}

static Error *add_gelu(Expansion *expansion, const char *approximate, uint32_t *inout_value) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "approximate", approximate));
    return add_node(expansion, OPERATOR_GELU, TAKE(attributes), inout_value, 1, inout_value);
}

static Error *add_activation(Expansion *expansion, const PlanRequest *request,
    Activation activation, const ActivationConstants *constants, uint32_t *inout_value) {
    uint32_t clip[3] = {*inout_value, constants->low, constants->high};
    switch (activation) {
    case ACTIVATION_NONE:
    case ACTIVATION_COUNT:
        return NULL;
    case ACTIVATION_RELU:
        return add_unary(expansion, OPERATOR_RELU, inout_value);
    case ACTIVATION_LEAKY_RELU:
        return add_leaky_relu(expansion, request, inout_value);
    case ACTIVATION_CLIP:
        return add_node(expansion, OPERATOR_CLIP, NULL, clip, 3, inout_value);
    case ACTIVATION_TANH:
        return add_unary(expansion, OPERATOR_TANH, inout_value);
    case ACTIVATION_SIGMOID:
        return add_unary(expansion, OPERATOR_SIGMOID, inout_value);
    case ACTIVATION_HARD_SWISH:
        return add_unary(expansion, OPERATOR_HARD_SWISH, inout_value);
    case ACTIVATION_GELU_ERF:
        return add_gelu(expansion, "none", inout_value);
    case ACTIVATION_GELU_TANH:
        return add_gelu(expansion, "tanh", inout_value);
    }
    return NULL;
}

static Error *copy_ints(const Attributes *from, const char *name, Attributes *to) {
    if (!attributes_has(from, name)) return NULL;
    uint32_t count;
    const int64_t *values = attributes_ints(from, name, &count);
    return attributes_set_ints(to, name, values, count);
}

static Error *add_conv(Expansion *expansion, const PlanRequest *request, uint32_t *out) {
    static const char *const lists[] = {"dilations", "kernel_shape", "pads", "strides"};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        TRY(copy_ints(request->attributes, lists[i], attributes));
    TRY(attributes_set_int(attributes, "group", attributes_int(request->attributes, "group")));
    TRY(attributes_set_text(
        attributes, "auto_pad", attributes_text(request->attributes, "auto_pad")));
    uint32_t inputs[3] = {0, 1, 2};
    return add_node(expansion, OPERATOR_CONV, TAKE(attributes), inputs,
        plan_request_has(request, 2) ? 3 : 2, out);
}

static Error *expand_conv(Expansion *expansion, const PlanRequest *request) {
    Activation activation;
    ActivationConstants constants = {0};
    TRY(prepare_activation(expansion, request, &activation, &constants));
    uint32_t value;
    TRY(add_conv(expansion, request, &value));
    if (plan_request_has(request, 3)) TRY(add_binary(expansion, OPERATOR_ADD, &value, 3));
    return add_activation(expansion, request, activation, &constants, &value);
}

static Error *add_transpose(
    Expansion *expansion, const int64_t *perm, uint32_t rank, uint32_t *inout_value) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_ints(attributes, "perm", perm, rank));
    return add_node(expansion, OPERATOR_TRANSPOSE, TAKE(attributes), inout_value, 1, inout_value);
}

/* Swaps the last two dimensions. */
static Error *add_swap(Expansion *expansion, uint32_t *inout_value) {
    uint32_t rank = operator_expansion_spec(expansion, expansion->inputs, *inout_value).shape.rank;
    if (rank < 2) FAIL(INVALID, "a transposed operand of rank %u", rank);
    int64_t perm[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return add_transpose(expansion, perm, rank, inout_value);
}

/* [T, .., D] becomes [.., T, D], or [.., D, T]. */
static Error *add_rows_moved(Expansion *expansion, bool columns, uint32_t *inout_value) {
    uint32_t rank = operator_expansion_spec(expansion, expansion->inputs, *inout_value).shape.rank;
    if (rank < 2) FAIL(INVALID, "an operand of rank %u with its rows first", rank);
    int64_t perm[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i + 2 < rank; i++) perm[i] = i + 1;
    perm[rank - 2] = columns ? rank - 1 : 0;
    perm[rank - 1] = columns ? 0 : rank - 1;
    return add_transpose(expansion, perm, rank, inout_value);
}

static Error *expand_matmul(Expansion *expansion, const PlanRequest *request) {
    const Attributes *attributes = request->attributes;
    Activation activation;
    ActivationConstants constants = {0};
    TRY(prepare_activation(expansion, request, &activation, &constants));
    double alpha = attributes_float(attributes, "alpha");
    uint32_t scale = alpha == 1 ? 0 : add_constant(expansion, request->inputs[0].dtype, alpha);
    uint32_t value = 0, other = 1;
    if (attributes_int(attributes, "transA")) TRY(add_swap(expansion, &value));
    if (attributes_int(attributes, "transB")) TRY(add_swap(expansion, &other));
    TRY(add_binary(expansion, OPERATOR_MATMUL, &value, other));
    if (alpha != 1) TRY(add_binary(expansion, OPERATOR_MUL, &value, scale));
    if (plan_request_has(request, 2)) TRY(add_binary(expansion, OPERATOR_ADD, &value, 2));
    if (plan_request_has(request, 3)) TRY(add_binary(expansion, OPERATOR_ADD, &value, 3));
    return add_activation(expansion, request, activation, &constants, &value);
}

static Error *expand_attention(Expansion *expansion, const PlanRequest *request) {
    const Attributes *attributes = request->attributes;
    uint32_t scale =
        add_constant(expansion, request->inputs[0].dtype, attributes_float(attributes, "scale"));
    const bool columns = attributes_int(attributes, "transposed_key");
    const bool rows_first = attributes_int(attributes, "key_rows_first");
    uint32_t value = 0, key = 1, weighed = 2;
    if (columns && rows_first) FAIL(INVALID, "a key both transposed and with its rows first");
    if (rows_first) TRY(add_rows_moved(expansion, true, &key));
    if (!columns && !rows_first) TRY(add_swap(expansion, &key));
    if (attributes_int(attributes, "value_rows_first"))
        TRY(add_rows_moved(expansion, false, &weighed));
    TRY(add_binary(expansion, OPERATOR_MATMUL, &value, key));
    TRY(add_binary(expansion, OPERATOR_MUL, &value, scale));
    if (plan_request_has(request, 3)) TRY(add_binary(expansion, OPERATOR_ADD, &value, 3));
    TRY(add_unary(expansion, OPERATOR_SOFTMAX, &value));
    return add_binary(expansion, OPERATOR_MATMUL, &value, weighed);
}

static Error *expand_append(Expansion *expansion, const PlanRequest *request) {
    static const uint32_t inputs[2] = {0, 1};
    uint32_t value;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", attributes_int(request->attributes, "axis")));
    return add_node(expansion, OPERATOR_CONCAT, TAKE(attributes), inputs, 2, &value);
}

static Error *add_step(Expansion *expansion, const PointwiseStep *step, const uint32_t *constants) {
    uint32_t inputs[POINTWISE_OPERANDS_MAX];
    uint32_t value;
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const PointwiseOperand *operand = &step->operands[i];
        switch (operand->kind) {
        case POINTWISE_INPUT:
            inputs[i] = operand->index;
            break;
        case POINTWISE_STEP:
            inputs[i] = node_value(expansion, operand->index);
            break;
        case POINTWISE_CONSTANT:
            inputs[i] = constants[i];
            break;
        }
    }
    return add_node(expansion, step->operator_info->id, attributes_retain(step->attributes), inputs,
        step->operand_count, &value);
}

static Error *expand_elementwise(Expansion *expansion, const PlanRequest *request) {
    OWN(PointwiseProgram, program) = NULL;
    TensorSpec specs[POINTWISE_STEPS_MAX];
    DType dtypes[POINTWISE_STEPS_MAX];
    uint32_t constants[POINTWISE_STEPS_MAX][POINTWISE_OPERANDS_MAX] = {{0}};
    uint32_t count;
    const double *values = attributes_floats(request->attributes, "constants", &count);
    TRY(pointwise_program_of(request, &program));
    TRY(pointwise_program_infer(program, request->inputs, specs, dtypes));
    for (uint32_t i = 0; i < program->step_count; i++) {
        const PointwiseStep *step = &program->steps[i];
        for (uint32_t j = 0; j < step->operand_count; j++)
            if (step->operands[j].kind == POINTWISE_CONSTANT)
                constants[i][j] =
                    add_constant(expansion, dtypes[i], values[step->operands[j].index]);
    }
    for (uint32_t i = 0; i < program->step_count; i++)
        TRY(add_step(expansion, &program->steps[i], constants[i]));
    return NULL;
}

static Error *expand(Expansion *expansion, const PlanRequest *request) {
    OperatorId id = request->operator_info->id;
    if (id == OPERATOR_FUSED_CONV) return expand_conv(expansion, request);
    if (id == OPERATOR_FUSED_MATMUL) return expand_matmul(expansion, request);
    if (id == OPERATOR_FUSED_ELEMENTWISE) return expand_elementwise(expansion, request);
    if (id == OPERATOR_APPEND) return expand_append(expansion, request);
    if (id == OPERATOR_FUSED_ATTENTION) return expand_attention(expansion, request);
    FAIL(UNSUPPORTED, "%s has no expansion", request->operator_info->name);
}

Error *operator_expansion_create(const PlanRequest *request, Expansion **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(Expansion), &block));
    OWN(Expansion, expansion) = block;
    expansion->input_count = request->input_count;
    expansion->inputs = request->inputs;
    TRY(expand(expansion, request));
    expansion->inputs = NULL;
    *out = TAKE(expansion);
    return NULL;
}
