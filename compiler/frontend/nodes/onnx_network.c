/* Dropout of all opsets, and recurrent networks, whose first form has an attribute for its output.
 */
#include "compiler/frontend/base/onnx_internal.h"

/* LSTM, GRU and RNN. Up to opset 6 output_sequence says whether Y is an output, as Y's name
 * does. */
Error *onnx_convert_recurrent(const OnnxNode *node) {
    static const char *const skipped[] = {"output_sequence", NULL};
    return onnx_node_emit(node, node->proto->op_type, node->scope->opset < 7 ? skipped : NULL,
        node->input_count, node->inputs);
}

/* Gives the outputs of a dropout their names. Up to opset 9 the mask has the type of the input. */
static Error *set_outputs(const OnnxNode *node, IrVariable *const *results) {
    IrVariable *mask;
    TRY(onnx_node_set_output(node, 0, results[0]));
    if (node->output_count < 2) return NULL;
    if (node->scope->opset >= 10) return onnx_node_set_output(node, 1, results[1]);
    TRY(ir_build_cast(onnx_at(node), results[1], onnx_float_type(node->inputs[0]), &mask));
    return onnx_node_set_output(node, 1, mask);
}

/* The operator Dropout makes a mask that is all true. */
static Error *inference_with_mask(const OnnxNode *node) {
    static const char *const skipped[] = {"ratio", "seed", "is_test", "consumed_inputs", NULL};
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    TRY(onnx_attribute_convert(node, "Dropout", skipped, &attributes));
    TRY(ir_build_operator(
        onnx_at(node), "Dropout", attributes, node->input_count, node->inputs, 2, &results));
    return set_outputs(node, results);
}

/* Up to opset 6 the ratio is an attribute, and a node trains unless is_test is set. */
static Error *old_training(const OnnxNode *node, IrVariable **inputs) {
    const Onnx__AttributeProto *ratio = onnx_attribute_find(node, "ratio");
    IrVariable *one;
    inputs[0] = node->inputs[0];
    TRY(onnx_constant_float0(
        node, ratio && ratio->has_f ? (double)ratio->f : 0.5, DTYPE_FLOAT32, &inputs[1]));
    TRY(onnx_constant_int0(node, 1, &one));
    return ir_build_cast(onnx_at(node), one, DTYPE_BOOL, &inputs[2]);
}

static Error *training(const OnnxNode *node) {
    static const char *const skipped[] = {"ratio", "is_test", "consumed_inputs", NULL};
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[3], **results;
    for (uint32_t i = 0; i < 3; i++) inputs[i] = onnx_input(node, i);
    if (node->scope->opset < 7) TRY(old_training(node, inputs));
    TRY(onnx_attribute_convert(node, "TrainingDropout", skipped, &attributes));
    TRY(ir_build_operator(onnx_at(node), "TrainingDropout", attributes, 3, inputs,
        node->output_count < 2 ? 1 : 2, &results));
    return set_outputs(node, results);
}

/* True when the node trains, or when the input that decides is not known yet. */
static Error *may_train(const OnnxNode *node, bool *out) {
    IrVariable *mode = onnx_input(node, 2);
    const Tensor *tensor = mode ? ir_variable_tensor(mode) : NULL;
    const bool is_known = tensor && tensor->dtype == DTYPE_BOOL && tensor_bytes(tensor) == 1;
    int64_t is_test;
    TRY(onnx_attribute_int(node, "is_test", 0, &is_test));
    *out = mode && !(is_known && *(const uint8_t *)tensor_data(tensor) == 0);
    if (node->scope->opset < 7) *out = is_test == 0;
    return NULL;
}

/* Inference: the value passes through. */
Error *onnx_convert_dropout(const OnnxNode *node) {
    IrVariable *input = onnx_input(node, 0);
    bool trains;
    if (!input) FAIL(INVALID, "input 0 is missing");
    TRY(may_train(node, &trains));
    if (trains) return training(node);
    if (node->output_count > 1) return inference_with_mask(node);
    return onnx_node_set_output(node, 0, input);
}
