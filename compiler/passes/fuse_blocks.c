/* Fuses a product with constant weights that are dequantized in blocks: the weights stay in their
 * few bits, with a row for each column of the result, and the kernel widens what it needs. */
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

/* Whether the weights are constants with float scales in a matrix of blocks along the depth. */
static bool read_blocks(Blocks *blocks) {
    const Attributes *attributes = blocks->maker->attributes;
    const int64_t axis = attributes_int(attributes, "axis");
    for (uint32_t i = 0; i < OPERANDS; i++) {
        blocks->operands[i] = fusion_operand(blocks->maker, i);
        if (blocks->operands[i] && !ir_variable_tensor(blocks->operands[i])) return false;
    }
    if (!takes_type(ir_variable_tensor(blocks->operands[CODES]))) return false;
    const Tensor *scales = ir_variable_tensor(blocks->operands[SCALES]);
    if (scales->dtype != DTYPE_FLOAT32 || scales->shape.rank != 2) return false;
    if (attributes_int(attributes, "block_size") < 1) return false;
    return blocks->transposed ? axis == 1 || axis == -1 : axis == 0 || axis == -2;
}

/* Whether the transpose exchanges the two dimensions of a matrix; by default it reverses them. */
static bool swaps(const IrBinding *transpose) {
    return !attributes_has(transpose->attributes, "perm") || ir_swaps_last(transpose);
}

static bool find_blocks(const Fusion *fusion, const IrBinding *product, Blocks *out) {
    const IrVariable *weights = fusion_operand(product, 1);
    const IrBinding *transpose = fusion_maker(product, weights, OPERATOR_TRANSPOSE);
    *out = (Blocks){.transposed = transpose != NULL};
    if (transpose && !swaps(transpose)) return false;
    if (transpose) weights = fusion_operand(transpose, 0);
    /* turned constants are made once */
    out->maker = transpose
                     ? fusion_maker(product, weights, OPERATOR_DEQUANTIZE_LINEAR)
                     : fusion_sole_maker(fusion, product, weights, OPERATOR_DEQUANTIZE_LINEAR);
    return out->maker && read_blocks(out);
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

static Error *rule(Fusion *fusion, IrBinding *root) {
    Blocks blocks;
    bool done = true;
    if (root->operator_info->id != OPERATOR_MATMUL) return NULL;
    IrVariable *left = fusion_operand(root, 0);
    const IrType *type = &left->type;
    if (type->kind != IR_TYPE_TENSOR || type->dtype != DTYPE_FLOAT32 || !type->rank_known ||
        type->rank < 2)
        return NULL;
    if (!find_blocks(fusion, root, &blocks)) return NULL;
    if (!blocks.transposed) TRY(turn(fusion, &blocks, &done));
    if (!done) return NULL;
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[1 + OPERANDS] = {left};
    memcpy(inputs + 1, blocks.operands, sizeof blocks.operands);
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(
        attributes, "block_size", attributes_int(blocks.maker->attributes, "block_size")));
    return fusion_replace(fusion, root, "FusedMatMulBlocks", attributes, 1 + OPERANDS, inputs);
}

Error *fuse_blocks_pass(PassContext *context) { return fusion_run(context, rule); }
