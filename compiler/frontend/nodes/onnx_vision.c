/* Operators on images and signals. Their older forms have other names of modes, lack later
 * features, or have attributes in the place of today's inputs. */
#include <math.h>

#include "compiler/frontend/base/onnx_internal.h"

/* Replaces the node by the operator of that name with these attributes. */
static Error *emit(const OnnxNode *node, const char *operator_name, Attributes *attributes,
    uint32_t input_count, IrVariable *const *inputs) {
    IrVariable **results;
    TRY(ir_build_operator(
        onnx_at(node), operator_name, attributes, input_count, inputs, 1, &results));
    return onnx_node_set_output(node, 0, results[0]);
}

static bool is_mode(const OnnxNode *node, const char *name) {
    const Onnx__AttributeProto *mode = onnx_attribute_find(node, "mode");
    return mode && onnx_text_is(&mode->s, name);
}

static Error *resize(const OnnxNode *node, IrVariable *image, IrVariable *scales,
    const char *nearest, IrVariable **out) {
    static const char *const skipped[] = {"scales", "height_scale", "width_scale", NULL};
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_attribute_convert(node, "Resize", skipped, &attributes));
    TRY(attributes_set_text(attributes, "coordinate_transformation_mode", "asymmetric"));
    TRY(attributes_set_text(attributes, "nearest_mode", nearest));
    if (is_mode(node, "bilinear")) TRY(attributes_set_text(attributes, "mode", "linear"));
    return ir_build_simple(onnx_at(node), "Resize", attributes, image, NULL, scales, out);
}

/* Whether scales shrink and whether they grow: both if they are computed. */
static void look_at_scales(const IrVariable *scales, bool *out_shrinks, bool *out_grows) {
    const Tensor *tensor = scales ? ir_variable_tensor(scales) : NULL;
    *out_shrinks = *out_grows = !tensor;
    if (!tensor || tensor->dtype != DTYPE_FLOAT32) return;
    for (int64_t i = 0; i < shape_count_unchecked(&tensor->shape); i++) {
        const float scale = ((const float *)tensor_data(tensor))[i];
        *out_shrinks = *out_shrinks || scale < 1;
        *out_grows = *out_grows || scale > 1;
    }
}

/* Resize of opset 10, whose other name is Upsample. Coordinates cannot be chosen. Nearest takes the
 * element before where an axis grows, and the one behind where it shrinks, as in ONNX's
 * test_resize_downsample_nearest of that opset. If both may happen, the image shrinks first. */
static Error *resize_by_scales(const OnnxNode *node, IrVariable *scales) {
    IrVariable *image = onnx_input(node, 0), *one, *below, *above;
    bool shrinks, grows;
    if (!image || !scales) FAIL(INVALID, "input %d is missing", image ? 1 : 0);
    look_at_scales(scales, &shrinks, &grows);
    if (shrinks && grows && !is_mode(node, "linear") && !is_mode(node, "bilinear")) {
        TRY(onnx_constant_float0(node, 1, DTYPE_FLOAT32, &one));
        TRY(ir_build_simple(onnx_at(node), "Min", NULL, scales, one, NULL, &below));
        TRY(ir_build_simple(onnx_at(node), "Max", NULL, scales, one, NULL, &above));
        TRY(resize(node, image, below, "ceil", &image));
        TRY(resize(node, image, above, "floor", &image));
    } else
        TRY(resize(node, image, scales, shrinks ? "ceil" : "floor", &image));
    return onnx_node_set_output(node, 0, image);
}

Error *onnx_convert_resize(const OnnxNode *node) {
    if (node->scope->opset >= 11)
        return onnx_node_emit(node, "Resize", NULL, node->input_count, node->inputs);
    return resize_by_scales(node, onnx_input(node, 1));
}

/* The scales are an attribute up to opset 8; up to opset 6 two attributes, for height and width. */
static Error *upsample_scales(const OnnxNode *node, IrVariable **out) {
    const Onnx__AttributeProto *all = onnx_attribute_find(node, "scales");
    const Onnx__AttributeProto *height = onnx_attribute_find(node, "height_scale");
    const Onnx__AttributeProto *width = onnx_attribute_find(node, "width_scale");
    if (onnx_input(node, 1)) {
        *out = onnx_input(node, 1);
        return NULL;
    }
    if (all && all->n_floats > 0)
        return onnx_constant_floats(node, all->floats, all->n_floats, out);
    if (!height || !height->has_f || !width || !width->has_f)
        FAIL(UNSUPPORTED, "an Upsample without scales");
    const float of_image[4] = {1, 1, height->f, width->f};
    return onnx_constant_floats(node, of_image, 4, out);
}

Error *onnx_convert_upsample(const OnnxNode *node) {
    IrVariable *scales;
    TRY(upsample_scales(node, &scales));
    return resize_by_scales(node, scales);
}

/* Up to opset 19 the modes have the names of their two-dimensional forms. */
Error *onnx_convert_grid_sample(const OnnxNode *node) {
    static const char *const names[][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
    if (node->scope->opset >= 20)
        return onnx_node_emit(node, "GridSample", NULL, node->input_count, node->inputs);
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_attribute_convert(node, "GridSample", NULL, &attributes));
    for (size_t i = 0; i < 2; i++)
        if (is_mode(node, names[i][0])) TRY(attributes_set_text(attributes, "mode", names[i][1]));
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

/* LpPool and GlobalLpPool. In opset 1 p is a float. */
Error *onnx_convert_lp_pool(const OnnxNode *node) {
    static const char *const skipped[] = {"p", NULL};
    const char *name = node->proto->op_type;
    const Onnx__AttributeProto *p = onnx_attribute_find(node, "p");
    if (!p || !p->has_f) return onnx_node_emit(node, name, NULL, node->input_count, node->inputs);
    if (!(p->f >= 1 && p->f < 0x1p31f && floorf(p->f) == p->f))
        FAIL(UNSUPPORTED, "a norm of %g", (double)p->f);
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_attribute_convert(node, name, skipped, &attributes));
    TRY(attributes_set_int(attributes, "p", (int64_t)p->f));
    return emit(node, name, attributes, node->input_count, node->inputs);
}

/* Up to opset 19 the axis is an attribute, by default the first axis behind the batch. */
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
