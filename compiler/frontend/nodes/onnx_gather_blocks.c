/* GatherBlockQuantized: rows of a constant of few bits, dequantized in blocks. Gather takes codes,
 * scales and zero points; only what was taken is dequantized. */
#include <inttypes.h>

#include "compiler/frontend/nodes/onnx_few_bits.h"

enum { GATHER_DATA, GATHER_INDICES, GATHER_SCALES, GATHER_ZEROS };

typedef struct Blocks {
    int64_t bits, block;
    uint32_t gather_axis, quantize_axis;
    Shape shape;   /* of the codes */
    Shape scales;  /* one for each block */
    bool is_bytes; /* codes and zero points are packed in uint8 */
} Blocks;

static Error *read_axis(
    const OnnxNode *node, const char *name, int64_t otherwise, uint32_t rank, uint32_t *out) {
    int64_t axis;
    TRY(onnx_attribute_int(node, name, otherwise, &axis));
    return error_wrap(shape_axis(axis, rank, out), "%s", name);
}

/* A number of bits matters for bytes alone. */
static Error *read_bits(const OnnxNode *node, Blocks *blocks) {
    TRY(onnx_attribute_int(node, "bits", 4, &blocks->bits));
    if (blocks->bits != 2 && blocks->bits != 4 && blocks->bits != 8)
        FAIL(INVALID, "bits is %" PRId64 ", not 2, 4 or 8", blocks->bits);
    if (blocks->gather_axis != 0)
        FAIL(INVALID, "gather_axis %u of data of uint8", blocks->gather_axis);
    const uint32_t last = blocks->shape.rank - 1;
    if (blocks->gather_axis == last && blocks->bits < 8)
        FAIL(INVALID, "gather_axis 0 of data of uint8 with one dimension");
    blocks->shape.dims[last] *= 8 / blocks->bits;
    return NULL;
}

static Error *read_layout(const OnnxNode *node, const Tensor *data, Blocks *out) {
    static const char *const known[] = {"bits", "block_size", "gather_axis", "quantize_axis", NULL};
    const bool is_float = !dtype_is_integer(data->dtype);
    TRY(onnx_attribute_check(node, known));
    out->shape = data->shape;
    out->is_bytes = data->dtype == DTYPE_UINT8;
    TRY(read_axis(node, "gather_axis", 0, out->shape.rank, &out->gather_axis));
    TRY(read_axis(node, "quantize_axis", 1, out->shape.rank, &out->quantize_axis));
    if (out->is_bytes) TRY(read_bits(node, out));
    const int64_t length = out->shape.dims[out->quantize_axis];
    TRY(onnx_attribute_int(node, "block_size", 128, &out->block));
    if (out->block == 0 && is_float)
        out->block = length > 0 ? length : 1;
    else
        TRY(few_bits_check_block(out->block));
    out->scales = out->shape;
    out->scales.dims[out->quantize_axis] = length / out->block + (length % out->block != 0);
    return NULL;
}

/* Codes or zero points of bytes as a constant of `shape`. */
static Error *unpack(const OnnxNode *node, const Blocks *blocks, const Tensor *packed,
    const char *input, const Shape *shape, IrVariable **out) {
    const uint64_t count = (uint64_t)shape->dims[shape->rank - 1];
    const FewBits codes = {
        .packed = packed,
        .rows = (uint64_t)shape_product(shape, 0, shape->rank - 1),
        .row_bytes = (count * (uint64_t)blocks->bits + 7) / 8,
        .count = count,
        .bits = (uint32_t)blocks->bits,
        .is_signed = !onnx_input(node, GATHER_ZEROS),
    };
    return few_bits_constant(node, &codes, input, shape, out);
}

/* Scales of floats may be one for all along an axis without blocks. */
static Error *make_scales(
    const OnnxNode *node, const Blocks *blocks, const Tensor *data, IrVariable **out) {
    Tensor *scales;
    IrVariable *dims;
    Shape wanted;
    TRY(few_bits_input(node, GATHER_SCALES, "scales", &scales));
    *out = node->inputs[GATHER_SCALES];
    if (shape_equal(&scales->shape, &blocks->scales)) return NULL;
    Error *error = shape_broadcast(&scales->shape, &blocks->scales, &wanted);
    const bool fits = !error && scales->shape.rank == blocks->scales.rank &&
                      shape_equal(&wanted, &blocks->scales) && !dtype_is_integer(data->dtype);
    error_free(error); /* the message below has both shapes */
    if (!fits) {
        TextBuilder OWN_TEXT(text) = {0};
        shape_print(&scales->shape, &text);
        text_append(&text, ", not ");
        shape_print(&blocks->scales, &text);
        FAIL(INVALID, "scales of %s", text_builder_get(&text));
    }
    TRY(onnx_constant_ints(node, wanted.dims, wanted.rank, &dims));
    return ir_build_simple(onnx_at(node), "Expand", NULL, *out, dims, NULL, out);
}

/* Codes, scales and zero points (NULL: none) in types and shapes of DequantizeLinear. */
static Error *read_operands(const OnnxNode *node, const Blocks *blocks, const Tensor *data,
    IrVariable **out_codes, IrVariable **out_scales, IrVariable **out_zeros) {
    Tensor *zeros = NULL;
    *out_codes = node->inputs[GATHER_DATA];
    *out_zeros = onnx_input(node, GATHER_ZEROS);
    if (*out_zeros) TRY(few_bits_input(node, GATHER_ZEROS, "zero_points", &zeros));
    if (zeros && zeros->dtype != data->dtype)
        FAIL(INVALID, "zero_points of %s for data of %s", dtype_name(zeros->dtype),
            dtype_name(data->dtype));
    TRY(make_scales(node, blocks, data, out_scales));
    if (blocks->is_bytes) {
        TRY(unpack(node, blocks, data, "data", &blocks->shape, out_codes));
        if (zeros) TRY(unpack(node, blocks, zeros, "zero_points", &blocks->scales, out_zeros));
    } else if (zeros && !shape_equal(&zeros->shape, &blocks->scales)) {
        FAIL(INVALID, "zero_points do not have the shape of the scales");
    }
    return NULL;
}

/* The indices as a vector of int64: from the end if negative; 0 where there is no such element.
 * *out_inside: which are there. */
static Error *read_indices(
    const OnnxNode *node, int64_t length, IrVariable **out, IrVariable **out_inside) {
    static const int64_t rest = -1;
    const IrCursor at = onnx_at(node);
    IrVariable *indices, *zero, *count, *test, *moved;
    TRY(onnx_constant_int0(node, 0, &zero));
    TRY(onnx_constant_int0(node, length, &count));
    TRY(onnx_reshape(node, node->inputs[GATHER_INDICES], 1, &rest, &indices));
    TRY(ir_build_cast(at, indices, DTYPE_INT64, &indices));
    TRY(ir_build_simple(at, "Less", NULL, indices, zero, NULL, &test));
    TRY(ir_build_simple(at, "Add", NULL, indices, count, NULL, &moved));
    TRY(ir_build_simple(at, "Where", NULL, test, moved, indices, &indices));
    TRY(ir_build_simple(at, "GreaterOrEqual", NULL, indices, zero, NULL, &test));
    TRY(ir_build_simple(at, "Less", NULL, indices, count, NULL, &moved));
    TRY(ir_build_simple(at, "And", NULL, test, moved, NULL, out_inside));
    return ir_build_simple(at, "Where", NULL, *out_inside, indices, zero, out);
}

static Error *gather(const OnnxNode *node, const Blocks *blocks, IrVariable *from,
    IrVariable *indices, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", blocks->gather_axis));
    return ir_build_simple(onnx_at(node), "Gather", attributes, from, indices, NULL, out);
}

/* Scales become 0 for indices outside, and so do the elements. */
static Error *mask(
    const OnnxNode *node, const Blocks *blocks, IrVariable *inside, IrVariable **inout_scales) {
    int64_t dims[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < SHAPE_RANK_MAX; i++) dims[i] = 1;
    dims[blocks->gather_axis] = -1;
    TRY(onnx_reshape(node, inside, blocks->shape.rank, dims, &inside));
    TRY(ir_build_simple(onnx_at(node), "CastLike", NULL, inside, *inout_scales, NULL, &inside));
    return ir_build_simple(onnx_at(node), "Mul", NULL, *inout_scales, inside, NULL, inout_scales);
}

static Error *dequantize(
    const OnnxNode *node, const Blocks *blocks, IrVariable *const *operands, IrVariable **out) {
    const bool same = blocks->gather_axis == blocks->quantize_axis;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", blocks->quantize_axis));
    TRY(attributes_set_int(attributes, "block_size", same ? 1 : blocks->block));
    return ir_build_simple(
        onnx_at(node), "DequantizeLinear", attributes, operands[0], operands[1], operands[2], out);
}

/* The dimensions of the indices take the place of the one that was gathered. */
static Error *restore_shape(
    const OnnxNode *node, const Blocks *blocks, IrVariable *tensor, IrVariable **out) {
    const IrCursor at = onnx_at(node);
    const uint32_t axis = blocks->gather_axis;
    IrVariable *parts[3], **dims;
    OWN(Attributes, joined) = NULL;
    OWN(Attributes, zeros) = NULL;
    TRY(onnx_constant_ints(node, blocks->shape.dims, axis, &parts[0]));
    TRY(ir_build_simple(at, "Shape", NULL, node->inputs[GATHER_INDICES], NULL, NULL, &parts[1]));
    TRY(onnx_constant_ints(
        node, blocks->shape.dims + axis + 1, blocks->shape.rank - axis - 1, &parts[2]));
    TRY(attributes_create(&joined));
    TRY(attributes_set_int(joined, "axis", 0));
    TRY(ir_build_operator(at, "Concat", joined, 3, parts, 1, &dims));
    TRY(attributes_create(&zeros));
    TRY(attributes_set_int(zeros, "allowzero", 1));
    return ir_build_simple(at, "Reshape", zeros, tensor, dims[0], NULL, out);
}

Error *onnx_convert_gather_blocks(const OnnxNode *node) {
    Blocks blocks;
    Tensor *data;
    IrVariable *indices, *inside, *block, *result;
    IrVariable *operands[3]; /* codes, scales, zero points */
    TRY(few_bits_input(node, GATHER_DATA, "data", &data));
    if (!onnx_input(node, GATHER_INDICES)) FAIL(INVALID, "input indices is missing");
    TRY(read_layout(node, data, &blocks));
    TRY(read_operands(node, &blocks, data, &operands[0], &operands[1], &operands[2]));
    TRY(read_indices(node, blocks.shape.dims[blocks.gather_axis], &indices, &inside));
    TRY(gather(node, &blocks, operands[0], indices, &operands[0]));
    if (blocks.gather_axis == blocks.quantize_axis) {
        TRY(onnx_constant_int0(node, blocks.block, &block));
        TRY(ir_build_simple(onnx_at(node), "Div", NULL, indices, block, NULL, &indices));
    }
    for (uint32_t i = 1; i < 3; i++)
        if (operands[i]) TRY(gather(node, &blocks, operands[i], indices, &operands[i]));
    TRY(mask(node, &blocks, inside, &operands[1]));
    TRY(dequantize(node, &blocks, operands, &result));
    TRY(restore_shape(node, &blocks, result, &result));
    return onnx_node_set_output(node, 0, result);
}
