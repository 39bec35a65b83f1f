/* Normalizations whose older forms had other semantics. */
#include "compiler/frontend/base/onnx_internal.h"

/* f(a, b), both of the same shape or broadcast together. */
static Error *binary(
    const OnnxNode *node, const char *name, IrVariable *a, IrVariable *b, IrVariable **out) {
    return ir_build_simple(onnx_at(node), name, NULL, a, b, NULL, out);
}

/* Up to opset 8 with spatial 0, each element of an image has its own mean, variance, scale and
 * bias. */
static Error *normalize_elements(const OnnxNode *node) {
    IrVariable *x = onnx_input(node, 0), *epsilon, *deviation;
    if (node->input_count != 5) FAIL(INVALID, "%u inputs", node->input_count);
    const Onnx__AttributeProto *given = onnx_attribute_find(node, "epsilon");
    const double value = given && given->has_f ? (double)given->f : 1e-5;
    TRY(onnx_constant_float0(node, value, onnx_float_type(x), &epsilon));
    TRY(binary(node, "Add", node->inputs[4], epsilon, &deviation));
    TRY(ir_build_simple(onnx_at(node), "Sqrt", NULL, deviation, NULL, NULL, &deviation));
    TRY(binary(node, "Sub", x, node->inputs[3], &x));
    TRY(binary(node, "Div", x, deviation, &x));
    TRY(binary(node, "Mul", x, node->inputs[1], &x));
    TRY(binary(node, "Add", x, node->inputs[2], &x));
    return onnx_node_set_output(node, 0, x);
}

static Error *normalize_in_training(const OnnxNode *node) {
    static const char *const skipped[] = {"spatial", "is_test", "training_mode", NULL};
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    if (node->output_count > 3) FAIL(UNSUPPORTED, "outputs saved_mean and saved_var");
    TRY(onnx_attribute_convert(node, "BatchNormalization", skipped, &attributes));
    TRY(attributes_set_int(attributes, "training_mode", 1));
    TRY(ir_build_operator(onnx_at(node), "BatchNormalization", attributes, node->input_count,
        node->inputs, node->output_count, &results));
    for (uint32_t i = 0; i < node->output_count; i++)
        TRY(onnx_node_set_output(node, i, results[i]));
    return NULL;
}

/* Up to opset 13 a node with outputs for running statistics is training. Up to opset 6 is_test
 * overrides that. */
Error *onnx_convert_batch_normalization(const OnnxNode *node) {
    static const char *const skipped[] = {"spatial", "is_test", "momentum", "training_mode", NULL};
    int64_t spatial, training, is_test;
    TRY(onnx_attribute_int(node, "spatial", 1, &spatial));
    TRY(onnx_attribute_int(node, "training_mode", 0, &training));
    TRY(onnx_attribute_int(node, "is_test", 0, &is_test));
    if (node->scope->opset < 14) training = node->output_count > 1;
    if (node->scope->opset < 7 && is_test) training = 0;
    if (spatial != 1 && training) FAIL(UNSUPPORTED, "attribute spatial other than 1 in training");
    if (spatial != 1) return normalize_elements(node);
    if (training) return normalize_in_training(node);
    OnnxNode first = *node;
    first.output_count = 1;
    return onnx_node_emit(&first, "BatchNormalization", skipped, node->input_count, node->inputs);
}

/* Repeats the value of each group for its channels. shape: [groups, channels of a group]. */
static Error *repeat_in_groups(const OnnxNode *node, IrVariable *shape, IrVariable **inout) {
    static const int64_t last = 1, all = -1;
    IrVariable *axes, *flat, *value = *inout;
    TRY(onnx_constant_ints(node, &last, 1, &axes));
    TRY(onnx_constant_ints(node, &all, 1, &flat));
    TRY(binary(node, "Unsqueeze", value, axes, &value));
    TRY(binary(node, "Expand", value, shape, &value));
    return binary(node, "Reshape", value, flat, inout);
}

/* Up to opset 20 scale and bias have one element for each group. */
Error *onnx_convert_group_normalization(const OnnxNode *node) {
    if (node->scope->opset >= 21)
        return onnx_node_emit(node, "GroupNormalization", NULL, node->input_count, node->inputs);
    if (node->input_count != 3) FAIL(INVALID, "%u inputs", node->input_count);
    OWN(Attributes, channels) = NULL;
    OWN(Attributes, first) = NULL;
    IrVariable *groups, *shape;
    int64_t count;
    TRY(onnx_attribute_int(node, "num_groups", 0, &count));
    TRY(onnx_constant_ints(node, &count, 1, &groups));
    TRY(attributes_create(&channels));
    TRY(attributes_set_int(channels, "start", 1));
    TRY(attributes_set_int(channels, "end", 2));
    TRY(ir_build_simple(onnx_at(node), "Shape", channels, node->inputs[0], NULL, NULL, &shape));
    TRY(binary(node, "Div", shape, groups, &shape));
    TRY(attributes_create(&first));
    TRY(attributes_set_int(first, "axis", 0));
    TRY(ir_build_simple(onnx_at(node), "Concat", first, groups, shape, NULL, &shape));
    IrVariable *inputs[3] = {node->inputs[0], node->inputs[1], node->inputs[2]};
    for (uint32_t i = 1; i < 3; i++) {
        if (!inputs[i]) FAIL(INVALID, "input %u is missing", i);
        TRY(repeat_in_groups(node, shape, &inputs[i]));
    }
    return onnx_node_emit(node, "GroupNormalization", NULL, 3, inputs);
}
