/* QuantizeLinear and DequantizeLinear, with attributes that name a type by its number, and what is
 * a group of them with any number of inputs. */
#include "compiler/frontend/base/onnx_internal.h"

/* A number of 0 is no type and counts as absent. */
Error *onnx_convert_quantization(const OnnxNode *node) {
    static const char *const names[] = {"output_dtype", "precision"};
    const char *skipped[3] = {NULL};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t dtype;
        TRY(onnx_attribute_int(node, names[i], 0, &dtype));
        if (dtype == 0) skipped[count++] = names[i];
    }
    return onnx_node_emit(node, node->proto->op_type, skipped, node->input_count, node->inputs);
}

static Error *call(const OnnxNode *node, const char *name, Attributes *attributes, uint32_t count,
    IrVariable *const *inputs, IrVariable **out) {
    IrVariable **results;
    TRY(ir_build_operator(onnx_at(node), name, attributes, count, inputs, 1, &results));
    *out = results[0];
    return NULL;
}

/* com.microsoft's QLinearConcat: the scale and the zero point of the output, then for each input
 * the tensor, its scale and its zero point. */
Error *onnx_convert_quantized_concat(const OnnxNode *node) {
    OWN(Attributes, attributes) = NULL;
    void *memory;
    IrVariable *joined, *quantized;
    if (node->input_count < 5 || node->input_count % 3 != 2)
        FAIL(INVALID, "%u inputs", node->input_count);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!node->inputs[i]) FAIL(INVALID, "input %u is missing", i);
    TRY(onnx_attribute_convert(node, "Concat", NULL, &attributes));
    const uint32_t count = node->input_count / 3;
    TRY(arena_alloc(&node->import->module->arena, count, sizeof(IrVariable *), &memory));
    IrVariable **parts = memory;
    for (uint32_t i = 0; i < count; i++)
        TRY(call(node, "DequantizeLinear", NULL, 3, node->inputs + 2 + (size_t)3 * i, &parts[i]));
    TRY(call(node, "Concat", attributes, count, parts, &joined));
    IrVariable *const result[] = {joined, node->inputs[0], node->inputs[1]};
    TRY(call(node, "QuantizeLinear", NULL, 3, result, &quantized));
    return onnx_node_set_output(node, 0, quantized);
}
