/* Operators whose older forms have attributes in the place of today's inputs. */
#include "compiler/frontend/base/onnx_internal.h"

enum { TYPE_STEPS_MAX = 4096 };

/* The attribute as a constant int64 vector, or NULL when the node does not have it. */
static Error *ints_as_input(const OnnxNode *node, const char *name, IrVariable **out) {
    const Onnx__AttributeProto *attribute;
    *out = NULL;
    TRY(onnx_attribute_ints(node, name, &attribute));
    if (!attribute) return NULL;
    return onnx_constant_ints(node, attribute->ints, attribute->n_ints, out);
}

/* The element type of an operator's result by its attribute, or DTYPE_NONE. */
static DType attribute_type(const IrBinding *binding) {
    switch ((int)binding->operator_info->id) {
    case OPERATOR_CAST:
        return attributes_dtype(binding->attributes, "to");
    case OPERATOR_EYE_LIKE:
        return attributes_has(binding->attributes, "dtype")
                   ? attributes_dtype(binding->attributes, "dtype")
                   : DTYPE_NONE;
    case OPERATOR_CONSTANT_OF_SHAPE:
        return attributes_has(binding->attributes, "value")
                   ? attributes_tensor(binding->attributes, "value")->dtype
                   : DTYPE_FLOAT32;
    default:
        return DTYPE_NONE;
    }
}

/* The operand that has the element type of the result, if both are floats. */
static uint32_t typed_operand(OperatorId operator_id) {
    if (operator_id == OPERATOR_WHERE || operator_id == OPERATOR_DEQUANTIZE_LINEAR) return 1;
    return operator_id == OPERATOR_ONE_HOT ? 2 : 0;
}

/* Finds the element type of a float through its makers. DTYPE_NONE: only shape inference can know
 * it. */
static DType told_type(const IrVariable *variable) {
    for (uint32_t i = 0; variable && i < TYPE_STEPS_MAX; i++) {
        const Tensor *tensor = ir_variable_tensor(variable);
        DType dtype = tensor ? tensor->dtype : variable->type.dtype;
        if (dtype_is_float(dtype)) return dtype;
        const IrBinding *binding = variable->binding;
        if (!binding || binding->kind != IR_OPERATOR || binding->operand_count == 0) break;
        dtype = attribute_type(binding);
        if (dtype != DTYPE_NONE) return dtype_is_float(dtype) ? dtype : DTYPE_FLOAT32;
        variable = ir_operand(binding, typed_operand(binding->operator_info->id));
    }
    return DTYPE_NONE;
}

DType onnx_float_type(const IrVariable *variable) {
    const DType told = told_type(variable);
    return told == DTYPE_NONE ? DTYPE_FLOAT32 : told;
}

/* A constant of rank 0 and of another value's type. */
static Error *float_like(const OnnxNode *node, double value, IrVariable *like, IrVariable **out) {
    const DType told = told_type(like);
    if (told != DTYPE_NONE) return onnx_constant_float0(node, value, told, out);
    TRY(onnx_constant_float0(node, value, DTYPE_FLOAT64, out));
    return ir_build_simple(onnx_at(node), "CastLike", NULL, *out, like, NULL, out);
}

/* Squeeze, Unsqueeze, the reductions: axes. */
Error *onnx_convert_axes(const OnnxNode *node) {
    static const char *const skipped[] = {"axes", NULL};
    IrVariable *inputs[2] = {onnx_input(node, 0), onnx_input(node, 1)};
    if (!inputs[1]) TRY(ints_as_input(node, "axes", &inputs[1]));
    return onnx_node_emit(node, node->proto->op_type, skipped, inputs[1] ? 2 : 1, inputs);
}

/* Up to opset 12 the lengths are the attribute split. Without lengths, the outputs are equal
 * parts. */
Error *onnx_convert_split(const OnnxNode *node) {
    static const char *const skipped[] = {"split", "num_outputs", NULL};
    IrVariable *inputs[2] = {onnx_input(node, 0), onnx_input(node, 1)};
    TRY(onnx_legacy_split_lengths(node, &inputs[1]));
    if (!inputs[1]) TRY(ints_as_input(node, "split", &inputs[1]));
    if (inputs[1]) return onnx_node_emit(node, "Split", skipped, 2, inputs);
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    TRY(onnx_attribute_convert(node, "Split", skipped, &attributes));
    uint32_t count = (uint32_t)node->proto->n_output;
    TRY(attributes_set_int(attributes, "num_outputs", count));
    TRY(ir_build_operator(onnx_at(node), "Split", attributes, 1, inputs, count, &results));
    for (uint32_t i = 0; i < count; i++) TRY(onnx_node_set_output(node, i, results[i]));
    return NULL;
}

Error *onnx_convert_slice(const OnnxNode *node) {
    static const char *const skipped[] = {"starts", "ends", "axes", NULL};
    if (node->scope->opset >= 10)
        return onnx_node_emit(node, "Slice", NULL, node->input_count, node->inputs);
    IrVariable *inputs[4] = {onnx_input(node, 0)};
    TRY(ints_as_input(node, "starts", &inputs[1]));
    TRY(ints_as_input(node, "ends", &inputs[2]));
    TRY(ints_as_input(node, "axes", &inputs[3]));
    return onnx_node_emit(node, "Slice", skipped, inputs[3] ? 4 : 3, inputs);
}

Error *onnx_convert_pad(const OnnxNode *node) {
    static const char *const skipped[] = {"pads", "paddings", "value", NULL};
    if (node->scope->opset >= 11)
        return onnx_node_emit(node, "Pad", NULL, node->input_count, node->inputs);
    IrVariable *inputs[3] = {onnx_input(node, 0)};
    if (!inputs[0]) FAIL(INVALID, "input 0 is missing");
    const Onnx__AttributeProto *value = onnx_attribute_find(node, "value");
    TRY(ints_as_input(node, node->scope->opset < 2 ? "paddings" : "pads", &inputs[1]));
    double fill = value && value->has_f ? (double)value->f : 0;
    TRY(float_like(node, fill, inputs[0], &inputs[2]));
    return onnx_node_emit(node, "Pad", skipped, 3, inputs);
}

/* Up to opset 10 min and max are attributes (of floats). */
Error *onnx_convert_clip(const OnnxNode *node) {
    static const char *const skipped[] = {"min", "max", NULL};
    if (node->scope->opset >= 11)
        return onnx_node_emit(node, "Clip", NULL, node->input_count, node->inputs);
    IrVariable *inputs[3] = {onnx_input(node, 0)};
    if (!inputs[0]) FAIL(INVALID, "input 0 is missing");
    for (uint32_t i = 1; i < 3; i++) {
        const Onnx__AttributeProto *bound = onnx_attribute_find(node, skipped[i - 1]);
        if (bound && bound->has_f) TRY(float_like(node, (double)bound->f, inputs[0], &inputs[i]));
    }
    uint32_t count = inputs[2] ? 3 : inputs[1] ? 2 : 1;
    return onnx_node_emit(node, "Clip", skipped, count, inputs);
}

/* Up to opset 9 k is an attribute. */
Error *onnx_convert_top_k(const OnnxNode *node) {
    static const char *const skipped[] = {"k", NULL};
    IrVariable *inputs[2] = {onnx_input(node, 0), onnx_input(node, 1)};
    const Onnx__AttributeProto *k = onnx_attribute_find(node, "k");
    if (!inputs[1] && k && k->has_i) TRY(onnx_constant_ints(node, &k->i, 1, &inputs[1]));
    return onnx_node_emit(node, "TopK", skipped, 2, inputs);
}

/* Scatter is the name of ScatterElements up to opset 10. */
Error *onnx_convert_scatter(const OnnxNode *node) {
    return onnx_node_emit(node, "ScatterElements", NULL, node->input_count, node->inputs);
}

/* Up to opset 12 the input is seen as a matrix whose rows are everything from the axis on. */
Error *onnx_convert_softmax(const OnnxNode *node) {
    if (node->scope->opset >= 13)
        return onnx_node_emit(node, node->proto->op_type, NULL, node->input_count, node->inputs);
    IrVariable *input = onnx_input(node, 0), *shape, *matrix, *result;
    int64_t axis;
    if (!input) FAIL(INVALID, "input 0 is missing");
    TRY(onnx_attribute_int(node, "axis", 1, &axis));
    OWN(Attributes, flatten) = NULL;
    OWN(Attributes, last) = NULL;
    OWN(Attributes, as_they_are) = NULL; /* dimensions of 0 */
    TRY(attributes_create(&flatten));
    TRY(attributes_create(&last));
    TRY(attributes_create(&as_they_are));
    TRY(attributes_set_int(as_they_are, "allowzero", 1));
    TRY(attributes_set_int(last, "axis", -1));
    if (axis == -1) {
        TRY(ir_build_simple(onnx_at(node), node->proto->op_type, last, input, NULL, NULL, &result));
        return onnx_node_set_output(node, 0, result);
    }
    TRY(attributes_set_int(flatten, "axis", axis));
    TRY(ir_build_shape_of(onnx_at(node), input, &shape));
    TRY(ir_build_simple(onnx_at(node), "Flatten", flatten, input, NULL, NULL, &matrix));
    TRY(ir_build_simple(onnx_at(node), node->proto->op_type, last, matrix, NULL, NULL, &matrix));
    TRY(ir_build_simple(onnx_at(node), "Reshape", as_they_are, matrix, shape, NULL, &result));
    return onnx_node_set_output(node, 0, result);
}
