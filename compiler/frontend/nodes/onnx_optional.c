/* An optional is nil or the element itself. */
#include "compiler/frontend/base/onnx_internal.h"

/* Passes on a value of any type. */
Error *onnx_convert_identity(const OnnxNode *node) {
    IrVariable *input = onnx_input(node, 0);
    if (!input) FAIL(INVALID, "input 0 is missing");
    return onnx_node_set_output(node, 0, input);
}

Error *onnx_convert_optional(const OnnxNode *node) {
    IrVariable *optional;
    TRY(ir_build_optional(onnx_at(node), onnx_input(node, 0), &optional));
    return onnx_node_set_output(node, 0, optional);
}

/* Since opset 18 the input may also be a plain value, which is the result. */
Error *onnx_convert_optional_get_element(const OnnxNode *node) {
    IrVariable *input = onnx_input(node, 0), *element;
    if (!input) FAIL(INVALID, "input 0 is missing");
    if (input->type.kind == IR_TYPE_TENSOR || input->type.kind == IR_TYPE_LIST)
        return onnx_node_set_output(node, 0, input);
    TRY(ir_build_call_packed(onnx_at(node), IR_PACKED_OPTIONAL_GET_ELEMENT, &input, &element));
    return onnx_node_set_output(node, 0, element);
}

Error *onnx_convert_optional_has_element(const OnnxNode *node) {
    IrVariable *input = onnx_input(node, 0), *has, *answer;
    if (input)
        TRY(ir_build_call_packed(onnx_at(node), IR_PACKED_OPTIONAL_HAS_ELEMENT, &input, &has));
    else
        TRY(ir_constant_bool(node->import->module, false, &has));
    TRY(ir_build_make_tensor(onnx_at(node), has, DTYPE_BOOL, &answer));
    return onnx_node_set_output(node, 0, answer);
}
