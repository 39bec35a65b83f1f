/* Arithmetic of opsets up to 6: broadcasting that an attribute asks for. */
#include "compiler/frontend/base/onnx_internal.h"

enum { OPSET_OF_BROADCASTING = 7, OPSET_OF_EXACT_SELU = 6 };

/* Aligns input `index` with the axes of input 0 from `axis` on. */
static Error *align(const OnnxNode *node, uint32_t index, int64_t axis, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    if (!onnx_input(node, 0) || !onnx_input(node, index)) FAIL(INVALID, "an input is missing");
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(
        onnx_at(node), "AlignAxes", attributes, node->inputs[index], node->inputs[0], NULL, out);
}

/* Add, And, Equal …: without `axis`, the second operand is aligned with the last axes of the first,
 * as in later opsets. */
Error *onnx_convert_broadcast(const OnnxNode *node) {
    static const char *const skipped[] = {"axis", "broadcast", NULL};
    int64_t axis, broadcast;
    if (node->scope->opset >= OPSET_OF_BROADCASTING)
        return onnx_node_emit(node, node->proto->op_type, NULL, node->input_count, node->inputs);
    TRY(onnx_attribute_int(node, "axis", 0, &axis));
    TRY(onnx_attribute_int(node, "broadcast", 0, &broadcast));
    IrVariable *inputs[2] = {onnx_input(node, 0), onnx_input(node, 1)};
    if (broadcast && onnx_attribute_find(node, "axis")) TRY(align(node, 1, axis, &inputs[1]));
    return onnx_node_emit(node, node->proto->op_type, skipped, 2, inputs);
}

/* The slope has one element for each channel. */
Error *onnx_convert_prelu(const OnnxNode *node) {
    IrVariable *inputs[2] = {onnx_input(node, 0), onnx_input(node, 1)};
    if (node->scope->opset < OPSET_OF_BROADCASTING) TRY(align(node, 1, 1, &inputs[1]));
    return onnx_node_emit(node, "PRelu", NULL, 2, inputs);
}

Error *onnx_convert_gemm(const OnnxNode *node) {
    static const char *const skipped[] = {"broadcast", NULL};
    bool old = node->scope->opset < OPSET_OF_BROADCASTING;
    return onnx_node_emit(node, "Gemm", old ? skipped : NULL, node->input_count, node->inputs);
}

/* Older opsets have constants of fewer digits. */
Error *onnx_convert_selu(const OnnxNode *node) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *input = onnx_input(node, 0), *result;
    if (!input) FAIL(INVALID, "input 0 is missing");
    TRY(onnx_attribute_convert(node, "Selu", NULL, &attributes));
    bool old = node->scope->opset < OPSET_OF_EXACT_SELU;
    if (old && !onnx_attribute_find(node, "alpha"))
        TRY(attributes_set_float(attributes, "alpha", (double)1.6732F));
    if (old && !onnx_attribute_find(node, "gamma"))
        TRY(attributes_set_float(attributes, "gamma", (double)1.0507F));
    TRY(ir_build_simple(onnx_at(node), "Selu", attributes, input, NULL, NULL, &result));
    return onnx_node_set_output(node, 0, result);
}
