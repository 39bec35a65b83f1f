/* QuantizeLinear and DequantizeLinear: attributes that name a type by its number. */
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
