/* Fuses a product with constant weights that are dequantized in blocks: the weights stay in their
 * few bits, with a row for each column of the result, and the kernel widens what it needs. A bias
 * of the columns joins the product. One of float16 is computed in float32 and rounded at its end.
 */
#include <string.h>

#include "compiler/ir/ir_permutation.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/fusion.h"

enum { CODES, SCALES, ZEROS, OPERANDS };

/* The dequantization of a product's weights. transposed: the codes are [N, K] already. */
typedef struct Blocks {
    const IrBinding *maker;
    IrVariable *operands[OPERANDS]; /* constants; the last one may be NULL */
    bool transposed;
} Blocks;

static bool takes_type(const Tensor *codes) {
    const DTypeSet set = DTYPES_PACKED_INTEGER | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8);
    return codes && codes->shape.rank == 2 && dtype_in(set, codes->dtype);
}

/* Whether the weights are constants with a matrix of scales of that type in blocks along the
 * depth. */
static bool read_blocks(DType dtype, Blocks *blocks) {
    const Attributes *attributes = blocks->maker->attributes;
    const int64_t axis = attributes_int(attributes, "axis");
    for (uint32_t i = 0; i < OPERANDS; i++) {
        blocks->operands[i] = fusion_operand(blocks->maker, i);
        if (blocks->operands[i] && !ir_variable_tensor(blocks->operands[i])) return false;
    }
    if (!takes_type(ir_variable_tensor(blocks->operands[CODES]))) return false;
    const Tensor *scales = ir_variable_tensor(blocks->operands[SCALES]);
    if (scales->dtype != dtype || scales->shape.rank != 2) return false;
    if (attributes_int(attributes, "block_size") < 1) return false;
    return blocks->transposed ? axis == 1 || axis == -1 : axis == 0 || axis == -2;
}

/* Whether the transpose exchanges the two dimensions of a matrix; by default it reverses them. */
static bool swaps(const IrBinding *transpose) {
    return !attributes_has(transpose->attributes, "perm") || ir_swaps_last(transpose);
}

static bool find_blocks(const Fusion *fusion, const IrBinding *product, DType dtype, Blocks *out) {
    const IrVariable *weights = fusion_operand(product, 1);
    const IrBinding *transpose = fusion_maker(product, weights, OPERATOR_TRANSPOSE);
    *out = (Blocks){.transposed = transpose != NULL};
    if (transpose && !swaps(transpose)) return false;
    if (transpose) weights = fusion_operand(transpose, 0);
    /* turned constants are made once */
    out->maker = transpose
                     ? fusion_maker(product, weights, OPERATOR_DEQUANTIZE_LINEAR)
                     : fusion_sole_maker(fusion, product, weights, OPERATOR_DEQUANTIZE_LINEAR);
    return out->maker && read_blocks(dtype, out);
}

/* Replaces constants by their transposes. *out_done false: there is no room or kernel for them. */
static Error *turn(Fusion *fusion, Blocks *blocks, bool *out_done) {
    static const int64_t perm[2] = {1, 0};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_ints(attributes, "perm", perm, 2));
    *out_done = true;
    for (uint32_t i = 0; i < OPERANDS && *out_done; i++) {
        if (!blocks->operands[i]) continue;
        Tensor *input = ir_variable_tensor(blocks->operands[i]);
        OWN(Tensor, turned) = NULL;
        TRY(evaluate_operator(fusion->context->portable, operator_get(OPERATOR_TRANSPOSE),
            attributes, 1, &input, 1, tensor_bytes(input), &turned, out_done));
        if (*out_done) TRY(ir_constant_tensor(fusion->module, turned, &blocks->operands[i]));
    }
    return NULL;
}

static Error *cast_attributes(DType dtype, Attributes **out) {
    TRY(attributes_create(out));
    return attributes_set_dtype(*out, "to", dtype);
}

/* Makes a cast to float32 in front of the binding. */
static Error *widen(Fusion *fusion, IrBinding *before, IrVariable **inout_value) {
    OWN(Attributes, attributes) = NULL;
    IrType type = (*inout_value)->type;
    type.dtype = DTYPE_FLOAT32;
    TRY(cast_attributes(DTYPE_FLOAT32, &attributes));
    return fusion_insert(fusion, before, "Cast", attributes, 1, inout_value, &type, inout_value);
}

/* Replaces constant scales by their float32. *out_done as in turn(). */
static Error *widen_scales(Fusion *fusion, Blocks *blocks, bool *out_done) {
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, made) = NULL;
    Tensor *scales = ir_variable_tensor(blocks->operands[SCALES]);
    TRY(cast_attributes(DTYPE_FLOAT32, &attributes));
    TRY(attributes_check(attributes, operator_get(OPERATOR_CAST)));
    TRY(evaluate_operator(fusion->context->portable, operator_get(OPERATOR_CAST), attributes, 1,
        &scales, 1, 2 * tensor_bytes(scales), &made, out_done));
    if (!*out_done) return NULL;
    return ir_constant_tensor(fusion->module, made, &blocks->operands[SCALES]);
}

static Error *replace_product(
    Fusion *fusion, IrBinding *root, const Blocks *blocks, IrVariable *left) {
    const bool halves = left->type.dtype == DTYPE_FLOAT16;
    OWN(Attributes, attributes) = NULL;
    OWN(Attributes, narrow) = NULL;
    IrVariable *inputs[1 + OPERANDS] = {left}, *made;
    IrType type = root->results[0]->type;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(
        attributes, "block_size", attributes_int(blocks->maker->attributes, "block_size")));
    if (halves) TRY(widen(fusion, root, &inputs[0]));
    memcpy(inputs + 1, blocks->operands, sizeof blocks->operands);
    if (!halves)
        return fusion_replace(fusion, root, "FusedMatMulBlocks", attributes, 1 + OPERANDS, inputs);
    type.dtype = DTYPE_FLOAT32;
    TRY(fusion_insert(
        fusion, root, "FusedMatMulBlocks", attributes, 1 + OPERANDS, inputs, &type, &made));
    TRY(cast_attributes(DTYPE_FLOAT16, &narrow));
    return fusion_replace(fusion, root, "Cast", narrow, 1, &made);
}

static Error *fuse_product(Fusion *fusion, IrBinding *root) {
    Blocks blocks;
    bool done = true;
    IrVariable *left = fusion_operand(root, 0);
    const IrType *type = &left->type;
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known || type->rank < 2 ||
        (type->dtype != DTYPE_FLOAT32 && type->dtype != DTYPE_FLOAT16))
        return NULL;
    if (!find_blocks(fusion, root, type->dtype, &blocks)) return NULL;
    if (!blocks.transposed) TRY(turn(fusion, &blocks, &done));
    if (done && type->dtype == DTYPE_FLOAT16) TRY(widen_scales(fusion, &blocks, &done));
    return done ? replace_product(fusion, root, &blocks, left) : NULL;
}

/* Adds a constant vector of the columns to a product that has none. */
static Error *fuse_bias(Fusion *fusion, IrBinding *root) {
    enum { BIAS = 1 + OPERANDS };
    IrBinding *product;
    IrVariable *bias, *inputs[BIAS + 1] = {NULL};
    if (!fusion_split(fusion, root, OPERATOR_FUSED_MATMUL_BLOCKS, &product, &bias)) return NULL;
    const Tensor *tensor = ir_variable_tensor(bias);
    const Tensor *codes = ir_variable_tensor(fusion_operand(product, 1 + CODES));
    if (!tensor || !codes || tensor->dtype != DTYPE_FLOAT32 || tensor->shape.rank != 1 ||
        tensor->shape.dims[0] != codes->shape.dims[0] || product->operand_count > BIAS)
        return NULL;
    for (uint32_t i = 0; i < product->operand_count; i++) inputs[i] = fusion_operand(product, i);
    inputs[BIAS] = bias;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(product->attributes, product->operator_info, attributes));
    return fusion_replace(fusion, root, "FusedMatMulBlocks", attributes, BIAS + 1, inputs);
}

static Error *rule(Fusion *fusion, IrBinding *root) {
    if (root->operator_info->id == OPERATOR_MATMUL) return fuse_product(fusion, root);
    return root->operator_info->id == OPERATOR_ADD ? fuse_bias(fusion, root) : NULL;
}

Error *fuse_blocks_pass(PassContext *context) { return fusion_run(context, rule); }
