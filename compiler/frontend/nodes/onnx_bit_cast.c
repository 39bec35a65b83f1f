/* BitCast. A bool has two values in Layover, so a cast to bool makes every byte other than 0
 * true. */
#include "compiler/frontend/base/onnx_internal.h"

Error *onnx_convert_bit_cast(const OnnxNode *node) {
    int64_t to;
    IrVariable *input = onnx_input(node, 0), *result;
    TRY(onnx_attribute_int(node, "to", 0, &to));
    if (to != DTYPE_BOOL || !input)
        return onnx_node_emit(node, "BitCast", NULL, node->input_count, node->inputs);
    OWN(Attributes, byte) = NULL;
    TRY(attributes_create(&byte));
    TRY(attributes_set_dtype(byte, "to", DTYPE_UINT8));
    TRY(ir_build_simple(onnx_at(node), "BitCast", byte, input, NULL, NULL, &result));
    TRY(ir_build_cast(onnx_at(node), result, DTYPE_BOOL, &result));
    return onnx_node_set_output(node, 0, result);
}
