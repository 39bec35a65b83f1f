#include "kernels/shape_rules/expansion_builder.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/shape_rules/operator_infer.h"

static Error *add_value(Expansion *expansion, ExpansionValue value, uint32_t *out) {
    if (expansion->value_count == EXPANSION_VALUES_MAX)
        FAIL(UNSUPPORTED, "an expansion of more than %d values", EXPANSION_VALUES_MAX);
    void *values = expansion->values;
    TRY(memory_grow(
        &values, expansion->value_count, &expansion->value_capacity, sizeof(ExpansionValue)));
    expansion->values = values;
    expansion->values[expansion->value_count] = value;
    *out = expansion->value_count++;
    return NULL;
}

Error *expansion_builder_start(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    Expansion *expansion = builder->expansion;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const void *bytes = request->values && operator_reads_value(request->operator_info, i)
                                ? request->values[i]
                                : NULL;
        uint32_t value;
        TRY(add_value(
            expansion, (ExpansionValue){EXPANSION_INPUT, request->inputs[i], bytes}, &value));
    }
    expansion->input_count = request->input_count;
    expansion->output_count = request->output_count;
    for (uint32_t i = 0; i < request->output_count; i++) expansion->outputs[i] = EXPANSION_ABSENT;
    return NULL;
}

uint32_t expansion_input(const ExpansionBuilder *builder, uint32_t index) {
    return plan_request_has(builder->request, index) ? index : EXPANSION_ABSENT;
}

bool expansion_wants(const ExpansionBuilder *builder, uint32_t output) {
    return output < builder->request->output_count;
}

TensorSpec expansion_spec(const ExpansionBuilder *builder, uint32_t value) {
    assert(value < builder->expansion->value_count);
    return builder->expansion->values[value].spec;
}

void expansion_set_output(ExpansionBuilder *builder, uint32_t output, uint32_t value) {
    if (expansion_wants(builder, output)) builder->expansion->outputs[output] = value;
}

/* Consumes the bytes. */
static Error *add_constant(
    ExpansionBuilder *builder, DType dtype, const Shape *shape, void *owned_bytes, uint32_t *out) {
    ExpansionValue value = {.source = EXPANSION_CONSTANT, .bytes = owned_bytes};
    value.spec = (TensorSpec){.present = true, .dtype = dtype, .shape = *shape};
    Error *error = add_value(builder->expansion, value, out);
    if (error) memory_free(owned_bytes);
    return error;
}

Error *expansion_scalar(ExpansionBuilder *builder, DType dtype, double value, uint32_t *out) {
    uint8_t bytes[8] = {0};
    void *block;
    if (!dtype_scalar_write(dtype, value, bytes))
        FAIL(UNSUPPORTED, "a constant of element type %s", dtype_name(dtype));
    TRY(memory_alloc(1, sizeof bytes, &block));
    memcpy(block, bytes, sizeof bytes);
    return add_constant(builder, dtype, &(Shape){0}, block, out);
}

Error *expansion_ints(
    ExpansionBuilder *builder, const int64_t *values, uint32_t count, uint32_t *out) {
    void *block;
    Shape shape = {.rank = 1, .dims = {count}};
    TRY(memory_alloc(count ? count : 1, sizeof(int64_t), &block));
    if (count) memcpy(block, values, count * sizeof(int64_t));
    return add_constant(builder, DTYPE_INT64, &shape, block, out);
}

static Error *check_results(const PlanRequest *request) {
    for (uint32_t i = 0; i < request->output_count; i++)
        for (uint32_t d = 0; d < request->outputs[i].shape.rank; d++)
            if (request->outputs[i].shape.dims[d] < 0)
                FAIL(UNSUPPORTED, "%s: a shape that depends on data", request->operator_info->name);
    return NULL;
}

/* False when the node needs data of an input that the call reads by value: such an input is not on
 * the device as data. */
static bool is_readable(const ExpansionBuilder *builder, const ExpansionNode *node) {
    const OperatorInfo *outer = builder->request->operator_info;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] < builder->expansion->input_count &&
            operator_reads_value(outer, node->inputs[i]) &&
            !operator_reads_value(node->operator_info, i))
            return false;
    return true;
}

/* Infers the node's outputs and numbers them. */
static Error *add_results(Expansion *expansion, ExpansionNode *node) {
    PlanRequest *request;
    node->first_output = expansion->value_count;
    TRY(operator_expansion_request(expansion, node, &request));
    Error *error = operator_infer(request);
    if (!error) error = check_results(request);
    for (uint32_t i = 0; i < node->output_count && !error; i++) {
        uint32_t value;
        error = add_value(
            expansion, (ExpansionValue){EXPANSION_RESULT, request->outputs[i], NULL}, &value);
    }
    memory_free(request);
    return error;
}

static Error *add_node(Expansion *expansion, ExpansionNode *owned_node) {
    if (expansion->node_count == EXPANSION_NODES_MAX)
        FAIL(UNSUPPORTED, "an expansion of more than %d nodes", EXPANSION_NODES_MAX);
    void *nodes = expansion->nodes;
    TRY(memory_grow(
        &nodes, expansion->node_count, &expansion->node_capacity, sizeof(ExpansionNode)));
    expansion->nodes = nodes;
    TRY(add_results(expansion, owned_node));
    expansion->nodes[expansion->node_count++] = *owned_node;
    return NULL;
}

Error *expansion_call(ExpansionBuilder *builder, ExpansionCall call, uint32_t *out) {
    OWN(Attributes, attributes) = call.owned_attributes;
    if (!attributes) TRY(attributes_create(&attributes));
    uint32_t count = call.input_count;
    while (count > 0 && call.inputs[count - 1] == EXPANSION_ABSENT) count--;
    assert(count <= PLAN_INPUTS_MAX);
    ExpansionNode node = {
        .operator_info = operator_get(call.operator_id),
        .attributes = attributes,
        .input_count = count,
        .output_count = call.output_count ? call.output_count : 1,
    };
    TRY(attributes_check(attributes, node.operator_info));
    void *inputs;
    TRY(memory_alloc(count ? count : 1, sizeof(uint32_t), &inputs));
    node.inputs = inputs;
    if (count) memcpy(inputs, call.inputs, count * sizeof(uint32_t));
    assert(is_readable(builder, &node));
    Error *error = add_node(builder->expansion, &node);
    if (error) {
        memory_free(inputs);
        return error;
    }
    (void)TAKE(attributes);
    *out = node.first_output;
    return NULL;
}

Error *expansion_call_text(ExpansionBuilder *builder, OperatorId operator_id,
    const char *attributes, const uint32_t *inputs, uint32_t input_count, uint32_t *out) {
    OWN(Attributes, parsed) = NULL;
    TRY(attributes_parse(&attributes, &parsed));
    return expansion_call(
        builder, (ExpansionCall){operator_id, TAKE(parsed), input_count, inputs, 1}, out);
}

Error *expansion_unary(
    ExpansionBuilder *builder, OperatorId operator_id, uint32_t value, uint32_t *out) {
    return expansion_call(builder, (ExpansionCall){operator_id, NULL, 1, &value, 1}, out);
}

Error *expansion_binary(
    ExpansionBuilder *builder, OperatorId operator_id, uint32_t a, uint32_t b, uint32_t *out) {
    const uint32_t inputs[2] = {a, b};
    return expansion_call(builder, (ExpansionCall){operator_id, NULL, 2, inputs, 1}, out);
}

Error *expansion_where(
    ExpansionBuilder *builder, uint32_t condition, uint32_t a, uint32_t b, uint32_t *out) {
    const uint32_t inputs[3] = {condition, a, b};
    return expansion_call(builder, (ExpansionCall){OPERATOR_WHERE, NULL, 3, inputs, 1}, out);
}

Error *expansion_cast(ExpansionBuilder *builder, uint32_t value, DType dtype, uint32_t *out) {
    *out = value;
    if (expansion_spec(builder, value).dtype == dtype) return NULL;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_dtype(attributes, "to", dtype));
    return expansion_call(
        builder, (ExpansionCall){OPERATOR_CAST, TAKE(attributes), 1, &value, 1}, out);
}

Error *expansion_reshape(
    ExpansionBuilder *builder, uint32_t value, const Shape *shape, uint32_t *out) {
    *out = value;
    TensorSpec spec = expansion_spec(builder, value);
    if (shape_equal(&spec.shape, shape)) return NULL;
    uint32_t inputs[2] = {value};
    TRY(expansion_ints(builder, shape->dims, shape->rank, &inputs[1]));
    return expansion_call_text(builder, OPERATOR_RESHAPE, "{allowzero=1}", inputs, 2, out);
}

Error *expansion_transpose(
    ExpansionBuilder *builder, uint32_t value, const int64_t *perm, uint32_t *out) {
    const uint32_t rank = expansion_spec(builder, value).shape.rank;
    bool moved = false;
    for (uint32_t i = 0; i < rank; i++) moved = moved || perm[i] != i;
    *out = value;
    if (!moved) return NULL;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_ints(attributes, "perm", perm, rank));
    return expansion_call(
        builder, (ExpansionCall){OPERATOR_TRANSPOSE, TAKE(attributes), 1, &value, 1}, out);
}

Error *expansion_swap(ExpansionBuilder *builder, uint32_t *inout_value) {
    const uint32_t rank = expansion_spec(builder, *inout_value).shape.rank;
    if (rank < 2) FAIL(INVALID, "a transposed operand of rank %u", rank);
    int64_t perm[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return expansion_transpose(builder, *inout_value, perm, inout_value);
}

Error *expansion_slice(ExpansionBuilder *builder, uint32_t value, uint32_t axis, int64_t begin,
    int64_t end, uint32_t *out) {
    *out = value;
    if (begin == 0 && end == expansion_spec(builder, value).shape.dims[axis]) return NULL;
    const int64_t at = axis;
    uint32_t inputs[4] = {value};
    TRY(expansion_ints(builder, &begin, 1, &inputs[1]));
    TRY(expansion_ints(builder, &end, 1, &inputs[2]));
    TRY(expansion_ints(builder, &at, 1, &inputs[3]));
    return expansion_call(builder, (ExpansionCall){OPERATOR_SLICE, NULL, 4, inputs, 1}, out);
}

Error *expansion_concat(
    ExpansionBuilder *builder, uint32_t a, uint32_t b, uint32_t axis, uint32_t *out) {
    const uint32_t inputs[2] = {a, b};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return expansion_call(
        builder, (ExpansionCall){OPERATOR_CONCAT, TAKE(attributes), 2, inputs, 1}, out);
}

Error *expansion_reduce(ExpansionBuilder *builder, OperatorId operator_id, uint32_t value,
    const int64_t *axes, uint32_t axis_count, bool keep_dims, uint32_t *out) {
    uint32_t inputs[2] = {value};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", keep_dims));
    TRY(attributes_set_int(attributes, "noop_with_empty_axes", 1));
    TRY(expansion_ints(builder, axes, axis_count, &inputs[1]));
    return expansion_call(
        builder, (ExpansionCall){operator_id, TAKE(attributes), 2, inputs, 1}, out);
}
