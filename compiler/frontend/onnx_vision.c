/* Operators on images and signals whose older forms name modes otherwise, lack what later ones
 * added, or carry as attributes what are inputs now. */
#include "compiler/frontend/onnx_internal.h"

/* The operator of that name with these attributes, in place of the node. */
static Error *emit(const OnnxNode *node, const char *operator_name, Attributes *attributes,
    uint32_t input_count, IrVariable *const *inputs) {
    IrVariable **results;
    TRY(ir_build_operator(
        onnx_at(node), operator_name, attributes, input_count, inputs, 1, &results));
    return onnx_node_set_output(node, 0, results[0]);
}

/* Resize of opset 10, which is Upsample under another name: no choice of coordinates yet, and of
 * the nearest elements the one before. */
static Error *resize_by_scales(
    const OnnxNode *node, const char *const *skipped, IrVariable *scales) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[3] = {onnx_input(node, 0), NULL, scales};
    TRY(onnx_attribute_convert(node, "Resize", skipped, &attributes));
    TRY(attributes_set_text(attributes, "coordinate_transformation_mode", "asymmetric"));
    TRY(attributes_set_text(attributes, "nearest_mode", "floor"));
    return emit(node, "Resize", attributes, 3, inputs);
}

Error *onnx_convert_resize(const OnnxNode *node) {
    if (node->scope->opset >= 11)
        return onnx_node_emit(node, "Resize", NULL, node->input_count, node->inputs);
    return resize_by_scales(node, NULL, onnx_input(node, 1));
}

/* Up to opset 8 the scales are an attribute. */
Error *onnx_convert_upsample(const OnnxNode *node) {
    static const char *const skipped[] = {"scales", NULL};
    const Onnx__AttributeProto *given = onnx_attribute_find(node, "scales");
    IrVariable *scales = onnx_input(node, 1);
    if (!scales && given && given->n_floats > 0)
        TRY(onnx_constant_floats(node, given->floats, given->n_floats, &scales));
    if (!scales) FAIL(UNSUPPORTED, "an Upsample without scales");
    return resize_by_scales(node, skipped, scales);
}

/* Up to opset 19 the modes have the names that they have in two dimensions. */
Error *onnx_convert_grid_sample(const OnnxNode *node) {
    static const char *const names[][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
    if (node->scope->opset >= 20)
        return onnx_node_emit(node, "GridSample", NULL, node->input_count, node->inputs);
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_attribute_convert(node, "GridSample", NULL, &attributes));
    const Onnx__AttributeProto *mode = onnx_attribute_find(node, "mode");
    for (size_t i = 0; mode && i < 2; i++)
        if (mode->s.len == strlen(names[i][0]) &&
            memcmp(mode->s.data, names[i][0], mode->s.len) == 0)
            TRY(attributes_set_text(attributes, "mode", names[i][1]));
    return emit(node, "GridSample", attributes, node->input_count, node->inputs);
}

/* Up to opset 15 coordinates are not shifted by half an element. */
Error *onnx_convert_roi_align(const OnnxNode *node) {
    if (node->scope->opset >= 16)
        return onnx_node_emit(node, "RoiAlign", NULL, node->input_count, node->inputs);
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_attribute_convert(node, "RoiAlign", NULL, &attributes));
    TRY(attributes_set_text(attributes, "coordinate_transformation_mode", "output_half_pixel"));
    return emit(node, "RoiAlign", attributes, node->input_count, node->inputs);
}

/* Up to opset 19 the axis is an attribute, by default the one behind the batch. */
Error *onnx_convert_dft(const OnnxNode *node) {
    static const char *const skipped[] = {"axis", NULL};
    int64_t axis;
    if (node->scope->opset >= 20)
        return onnx_node_emit(node, "DFT", NULL, node->input_count, node->inputs);
    IrVariable *inputs[3] = {onnx_input(node, 0), onnx_input(node, 1), NULL};
    TRY(onnx_attribute_int(node, "axis", 1, &axis));
    TRY(onnx_constant_int0(node, axis, &inputs[2]));
    return onnx_node_emit(node, "DFT", skipped, 3, inputs);
}
