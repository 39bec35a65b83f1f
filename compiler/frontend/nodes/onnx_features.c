/* FeatureVectorizer of ai.onnx.ml. */
#include <inttypes.h>

#include "compiler/frontend/base/onnx_internal.h"

static Error *join(
    const OnnxNode *node, uint32_t count, IrVariable *const *parts, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable **joined;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    TRY(ir_build_operator(onnx_at(node), "Concat", attributes, count, parts, 1, &joined));
    *out = joined[0];
    return NULL;
}

/* So many columns: what is missing is 0, what is more is left out. */
static Error *set_width(const OnnxNode *node, int64_t width, IrVariable **inout) {
    OWN(Tensor, zeros) = NULL;
    IrVariable *parts[2] = {*inout, NULL}, *wide, *operands[4], **cut, *first, *column, *nothing;
    const int64_t dims[2] = {1, width}, zero = 0, axis = 1;
    const Shape shape = shape_make(2, dims);
    TRY(tensor_create_on_host(node->import->device, DTYPE_FLOAT32, &shape, &zeros));
    memset(tensor_data(zeros), 0, tensor_bytes(zeros));
    TRY(ir_constant_tensor(node->import->module, zeros, &nothing));
    /* as many rows of zeros as the input has */
    TRY(onnx_constant_ints(node, &zero, 1, &first));
    TRY(ir_build_simple(onnx_at(node), "Shape", NULL, *inout, NULL, NULL, &column));
    TRY(ir_build_simple(onnx_at(node), "Gather", NULL, column, first, NULL, &column));
    IrVariable *lengths[2] = {column, NULL}, **shape_of;
    OWN(Attributes, flat) = NULL;
    TRY(attributes_create(&flat));
    TRY(attributes_set_int(flat, "axis", 0));
    TRY(onnx_constant_ints(node, &width, 1, &lengths[1]));
    TRY(ir_build_operator(onnx_at(node), "Concat", flat, 2, lengths, 1, &shape_of));
    TRY(ir_build_simple(onnx_at(node), "Expand", NULL, nothing, shape_of[0], NULL, &parts[1]));
    TRY(join(node, 2, parts, &wide));
    operands[0] = wide;
    operands[1] = first;
    operands[2] = lengths[1];
    TRY(onnx_constant_ints(node, &axis, 1, &operands[3]));
    TRY(ir_build_operator(onnx_at(node), "Slice", NULL, 4, operands, 1, &cut));
    *inout = cut[0];
    return NULL;
}

/* An input as rows of floats. */
static Error *read_part(
    const OnnxNode *node, uint32_t index, const Onnx__AttributeProto *widths, IrVariable **out) {
    OWN(Attributes, flat) = NULL;
    IrVariable *input = node->inputs[index];
    if (!input) FAIL(INVALID, "input %u is missing", index);
    TRY(attributes_create(&flat));
    TRY(attributes_set_int(flat, "axis", -1));
    TRY(ir_build_cast(onnx_at(node), input, DTYPE_FLOAT32, out));
    TRY(ir_build_simple(onnx_at(node), "Flatten", flat, *out, NULL, NULL, out));
    if (!widths) return NULL;
    const int64_t width = widths->ints[index];
    const IrType *type = &input->type;
    if (width < 0 || width > INT32_MAX)
        FAIL(INVALID, "inputdimensions[%u] is %" PRId64, index, width);
    if (type->kind == IR_TYPE_TENSOR && type->rank_known && type->rank > 0 &&
        type->dims[type->rank - 1] == width)
        return NULL;
    return set_width(node, width, out);
}

Error *onnx_convert_feature_vectorizer(const OnnxNode *node) {
    static const char *const known[] = {"inputdimensions", NULL};
    const Onnx__AttributeProto *widths;
    IrVariable *joined;
    void *memory;
    TRY(onnx_attribute_check(node, known));
    TRY(onnx_attribute_ints(node, "inputdimensions", &widths));
    if (node->input_count == 0) FAIL(INVALID, "no input");
    if (widths && widths->n_ints != node->input_count)
        FAIL(INVALID, "%zu inputdimensions for %u inputs", widths->n_ints, node->input_count);
    TRY(arena_alloc(
        &node->import->module->arena, node->input_count, sizeof(IrVariable *), &memory));
    IrVariable **parts = memory;
    for (uint32_t i = 0; i < node->input_count; i++) TRY(read_part(node, i, widths, &parts[i]));
    TRY(join(node, node->input_count, parts, &joined));
    return onnx_node_set_output(node, 0, joined);
}
