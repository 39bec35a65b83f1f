/* Movement operators of opsets up to 5, whose arguments had other names and types. */
#include "compiler/frontend/base/onnx_internal.h"

/* Up to opset 4 the shape is an attribute. */
Error *onnx_convert_reshape(const OnnxNode *node) {
    static const char *const skipped[] = {"shape", NULL};
    const Onnx__AttributeProto *shape;
    if (node->scope->opset >= 5)
        return onnx_node_emit(node, "Reshape", NULL, node->input_count, node->inputs);
    IrVariable *inputs[2] = {onnx_input(node, 0)};
    TRY(onnx_attribute_ints(node, "shape", &shape));
    if (!shape) FAIL(INVALID, "attribute shape is missing");
    TRY(onnx_constant_ints(node, shape->ints, shape->n_ints, &inputs[1]));
    return onnx_node_emit(node, "Reshape", skipped, 2, inputs);
}

/* Up to opset 3 the default axis is 1. */
Error *onnx_convert_concat(const OnnxNode *node) {
    if (node->scope->opset >= 4 || onnx_attribute_find(node, "axis"))
        return onnx_node_emit(node, "Concat", NULL, node->input_count, node->inputs);
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    TRY(ir_build_operator(
        onnx_at(node), "Concat", attributes, node->input_count, node->inputs, 1, &results));
    return onnx_node_set_output(node, 0, results[0]);
}

/* Up to opset 5 the type is named as TensorProto does. */
Error *onnx_convert_cast(const OnnxNode *node) {
    const Onnx__AttributeProto *to = onnx_attribute_find(node, "to");
    char name[32] = "";
    DType dtype;
    IrVariable *result;
    if (node->scope->opset >= 6 || !to || !to->has_s)
        return onnx_node_emit(node, "Cast", NULL, node->input_count, node->inputs);
    if (!onnx_input(node, 0)) FAIL(INVALID, "input 0 is missing");
    if (to->s.len < sizeof name && to->s.len > 0) memcpy(name, to->s.data, to->s.len);
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(
        &onnx__tensor_proto__data_type__descriptor, name);
    if (!value) FAIL(INVALID, "attribute to is no element type");
    TRY_WRAP(onnx_dtype(value->value, &dtype), "attribute to");
    TRY(ir_build_cast(onnx_at(node), node->inputs[0], dtype, &result));
    return onnx_node_set_output(node, 0, result);
}

/* Converts a tensor of one element and any number type to int64: [1], or [] for rank 0. */
static Error *one_int(const OnnxNode *node, uint32_t index, uint32_t rank, IrVariable **out) {
    static const int64_t one = 1;
    IrVariable *value = onnx_input(node, index);
    if (!value) FAIL(INVALID, "input %u is missing", index);
    TRY(ir_build_cast(onnx_at(node), value, DTYPE_INT64, &value));
    return onnx_reshape(node, value, rank, &one, out);
}

/* Up to opset 5 the inputs are the number of repetitions and the axis, each a tensor of one
 * number. */
Error *onnx_convert_tile(const OnnxNode *node) {
    static const int64_t once = 1;
    IrVariable *shape, *rank, *axis, *values[2], **joined, *repeats, *result;
    OWN(Attributes, attributes) = NULL;
    if (node->scope->opset >= 6)
        return onnx_node_emit(node, "Tile", NULL, node->input_count, node->inputs);
    if (!onnx_input(node, 0)) FAIL(INVALID, "input 0 is missing");
    TRY(onnx_constant_ints(node, &once, 1, &values[0]));
    TRY(one_int(node, 1, 1, &values[1]));
    TRY(one_int(node, 2, 0, &axis));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 0));
    TRY(ir_build_operator(onnx_at(node), "Concat", attributes, 2, values, 1, &joined));
    TRY(ir_build_shape_of(onnx_at(node), node->inputs[0], &shape));
    TRY(ir_build_shape_of(onnx_at(node), shape, &rank));
    TRY(ir_build_simple(onnx_at(node), "OneHot", NULL, axis, rank, joined[0], &repeats));
    TRY(ir_build_simple(onnx_at(node), "Tile", NULL, node->inputs[0], repeats, NULL, &result));
    return onnx_node_set_output(node, 0, result);
}

/* Opset 1 has the lengths as a tensor of the input's type, too. */
Error *onnx_legacy_split_lengths(const OnnxNode *node, IrVariable **inout_lengths) {
    if (node->scope->opset >= 2 || !*inout_lengths) return NULL;
    return ir_build_cast(onnx_at(node), *inout_lengths, DTYPE_INT64, inout_lengths);
}
