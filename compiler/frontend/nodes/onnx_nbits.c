/* MatMulNBits and MatMulBnb4: products with constant weights of few bits. The weights become a
 * constant of a packed type, which the graph dequantizes in blocks. */
#include <inttypes.h>

#include "compiler/frontend/nodes/onnx_few_bits.h"

/* Weights [N, K]; a scale for each block of `block` elements of a row. */
typedef struct NBits {
    int64_t rows, depth, block, blocks, bits;
    bool in_bytes; /* the activations may be rounded to bytes */
} NBits;

enum { NBITS_A, NBITS_B, NBITS_SCALES, NBITS_ZEROS, NBITS_GROUPS, NBITS_BIAS };
enum { ACCURACY_BYTES = 4 };
enum { BNB4_ABSMAX = NBITS_SCALES, BNB4_CODES = 16 };

/* Above what a file holds, so that products of two sizes and of bits fit an int64. */
static const int64_t SIZE_MAX_EACH = INT64_C(1) << 28;

static Error *read_sizes(const OnnxNode *node, NBits *out) {
    TRY(few_bits_size(node, "K", &out->depth));
    TRY(few_bits_size(node, "N", &out->rows));
    TRY(few_bits_size(node, "block_size", &out->block));
    TRY(few_bits_check_block(out->block));
    if (out->depth > SIZE_MAX_EACH || out->rows > SIZE_MAX_EACH || out->block > SIZE_MAX_EACH)
        FAIL(INVALID, "weights of %" PRId64 " by %" PRId64 " in blocks of %" PRId64, out->rows,
            out->depth, out->block);
    out->blocks = (out->depth + out->block - 1) / out->block;
    return NULL;
}

static Error *read_layout(const OnnxNode *node, NBits *out) {
    static const char *const known[] = {
        "K", "N", "bits", "block_size", "accuracy_level", "weight_prepacked", NULL};
    int64_t prepacked, accuracy;
    TRY(onnx_attribute_check(node, known));
    TRY(read_sizes(node, out));
    TRY(onnx_attribute_int(node, "accuracy_level", 0, &accuracy));
    out->in_bytes = accuracy == ACCURACY_BYTES;
    TRY(onnx_attribute_int(node, "bits", 4, &out->bits));
    if (out->bits < 2 || out->bits > 8) FAIL(INVALID, "bits is %" PRId64 ", not 2 to 8", out->bits);
    TRY(onnx_attribute_int(node, "weight_prepacked", 0, &prepacked));
    if (prepacked != 0)
        FAIL(UNSUPPORTED, "weights packed for one vendor's device; save the model with "
                          "weight_prepacked 0");
    return NULL;
}

static Error *reshape(
    const OnnxNode *node, IrVariable *tensor, int64_t rows, int64_t columns, IrVariable **out) {
    const int64_t dims[2] = {rows, columns};
    return onnx_reshape(node, tensor, 2, dims, out);
}

/* A float for each block, in a matrix: older files have a vector. */
static Error *block_floats(const OnnxNode *node, const NBits *layout, uint32_t index,
    const char *input, IrVariable **out) {
    IrVariable *given = onnx_input(node, index);
    const Tensor *tensor = given ? ir_variable_tensor(given) : NULL;
    if (!given) FAIL(INVALID, "input %s is missing", input);
    if (tensor && shape_count_unchecked(&tensor->shape) != layout->rows * layout->blocks)
        FAIL(INVALID, "%s has %" PRId64 " elements, not %" PRId64 " rows of %" PRId64, input,
            shape_count_unchecked(&tensor->shape), layout->rows, layout->blocks);
    return reshape(node, given, layout->rows, layout->blocks, out);
}

static bool is_packed(const IrVariable *zeros) {
    const Tensor *tensor = ir_variable_tensor(zeros);
    return tensor && tensor->dtype == DTYPE_UINT8;
}

/* Without zero points the middle of the codes is 0, as in a signed type. */
static Error *make_codes(const OnnxNode *node, const NBits *layout, IrVariable **out) {
    Tensor *packed;
    TRY(few_bits_input(node, NBITS_B, "B", &packed));
    const int64_t dims[2] = {layout->rows, layout->depth};
    const Shape shape = shape_make(2, dims);
    const FewBits codes = {
        .packed = packed,
        .rows = (uint64_t)layout->rows,
        .row_bytes = (uint64_t)(layout->blocks * (layout->block / 8 * layout->bits)),
        .count = (uint64_t)layout->depth,
        .bits = (uint32_t)layout->bits,
        .is_signed = !onnx_input(node, NBITS_ZEROS),
    };
    return few_bits_constant(node, &codes, "B", &shape, out);
}

/* Zero points that are packed as the weights are. */
static Error *make_zeros(const OnnxNode *node, const NBits *layout, IrVariable **out) {
    Tensor *packed;
    TRY(few_bits_input(node, NBITS_ZEROS, "zero_points", &packed));
    const int64_t dims[2] = {layout->rows, layout->blocks};
    const Shape shape = shape_make(2, dims);
    const FewBits zeros = {
        .packed = packed,
        .rows = (uint64_t)layout->rows,
        .row_bytes = (uint64_t)((layout->blocks * layout->bits + 7) / 8),
        .count = (uint64_t)layout->blocks,
        .bits = (uint32_t)layout->bits,
    };
    return few_bits_constant(node, &zeros, "zero_points", &shape, out);
}

static Error *dequantize(const OnnxNode *node, const NBits *layout, IrVariable *codes,
    IrVariable *scales, IrVariable *zeros, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    TRY(attributes_set_int(attributes, "block_size", layout->block));
    return ir_build_simple(
        onnx_at(node), "DequantizeLinear", attributes, codes, scales, zeros, out);
}

/* The block of each column: g_idx, or by the block's size. */
static Error *make_groups(const OnnxNode *node, const NBits *layout, IrVariable **out) {
    OWN(Tensor, made) = NULL;
    const Tensor *given;
    IrVariable *groups = onnx_input(node, NBITS_GROUPS);
    if (groups && !(given = ir_variable_tensor(groups))) {
        *out = groups;
        return NULL;
    }
    const Shape shape = shape_make(1, &layout->depth);
    if (groups && (given->dtype != DTYPE_INT32 || !shape_equal(&given->shape, &shape)))
        FAIL(INVALID, "g_idx is not int32 [%" PRId64 "]", layout->depth);
    TRY(tensor_create_on_host(node->import->device, DTYPE_INT32, &shape, &made));
    int32_t *to = tensor_data(made);
    for (int64_t i = 0; i < layout->depth; i++) {
        to[i] = groups ? ((const int32_t *)tensor_data(given))[i] : (int32_t)(i / layout->block);
        if (to[i] < 0 || to[i] >= layout->blocks)
            FAIL(INVALID, "g_idx %" PRId32 " of %" PRId64 " blocks", to[i], layout->blocks);
    }
    return ir_constant_tensor(node->import->module, made, out);
}

static Error *gather(
    const OnnxNode *node, IrVariable *blocks, IrVariable *groups, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    return ir_build_simple(onnx_at(node), "Gather", attributes, blocks, groups, NULL, out);
}

/* (codes - zeros) * scales, each zero point and scale repeated for its columns: for zero points
 * that are floats, and blocks that are no neighbours. */
static Error *spread(const OnnxNode *node, const NBits *layout, IrVariable *codes,
    IrVariable *scales, IrVariable *zeros, IrVariable **out) {
    const IrCursor at = onnx_at(node);
    IrVariable *groups, *values;
    TRY(make_groups(node, layout, &groups));
    TRY(ir_build_simple(at, "CastLike", NULL, codes, scales, NULL, &values));
    if (zeros) {
        TRY(ir_build_simple(at, "CastLike", NULL, zeros, scales, NULL, &zeros));
        TRY(gather(node, zeros, groups, &zeros));
        TRY(ir_build_simple(at, "Sub", NULL, values, zeros, NULL, &values));
    }
    TRY(gather(node, scales, groups, &scales));
    return ir_build_simple(at, "Mul", NULL, values, scales, NULL, out);
}

/* ---- one operator ---- */

/* Weights [N, K] as FusedMatMulBlocks reads them; the last three may be NULL. */
typedef struct Fused {
    IrVariable *codes, *scales, *zeros, *bias, *values;
} Fused;

/* Whether the operator takes the rows: a vector is left to MatMul. */
static bool takes_rows(const OnnxNode *node) {
    const IrVariable *a = onnx_input(node, NBITS_A);
    return a && !(a->type.kind == IR_TYPE_TENSOR && a->type.rank_known && a->type.rank < 2);
}

static bool is_half(const IrVariable *scales) {
    const Tensor *tensor = ir_variable_tensor(scales);
    return tensor && tensor->dtype == DTYPE_FLOAT16;
}

/* Halves are computed as floats. */
static Error *widen(const OnnxNode *node, IrVariable **inout_value) {
    return *inout_value ? ir_build_cast(onnx_at(node), *inout_value, DTYPE_FLOAT32, inout_value)
                        : NULL;
}

static Error *multiply_blocks(
    const OnnxNode *node, const NBits *layout, Fused *fused, bool halves, IrVariable **out) {
    IrVariable *rows = node->inputs[NBITS_A], **results;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "block_size", layout->block));
    TRY(attributes_set_int(attributes, "activation_bits", layout->in_bytes ? 8 : 0));
    if (halves) {
        TRY(widen(node, &rows));
        TRY(widen(node, &fused->scales));
        TRY(widen(node, &fused->bias));
    }
    IrVariable *const inputs[] = {
        rows, fused->codes, fused->scales, fused->zeros, fused->bias, fused->values};
    TRY(ir_build_operator(onnx_at(node), "FusedMatMulBlocks", attributes, 6, inputs, 1, &results));
    *out = results[0];
    return halves ? ir_build_cast(onnx_at(node), *out, DTYPE_FLOAT16, out) : NULL;
}

/* Bytes of activations are not what plain operators compute, so that no pass may make them later.
 * Blocks that are no neighbours, and zero points that are floats, are not for that operator. */
static bool is_in_bytes(const OnnxNode *node, const NBits *layout) {
    const IrVariable *zeros = onnx_input(node, NBITS_ZEROS);
    const IrVariable *scales = onnx_input(node, NBITS_SCALES);
    return layout->in_bytes && takes_rows(node) && !onnx_input(node, NBITS_GROUPS) &&
           (!zeros || is_packed(zeros)) && layout->block <= INT64_C(1) << 20 &&
           layout->bits % 2 == 0 && layout->bits != 6 && layout->depth * layout->bits % 8 == 0 &&
           scales && ir_variable_tensor(scales);
}

static Error *convert_in_bytes(const OnnxNode *node, const NBits *layout, IrVariable **out) {
    Fused fused = {.bias = onnx_input(node, NBITS_BIAS)};
    TRY(block_floats(node, layout, NBITS_SCALES, "scales", &fused.scales));
    TRY(make_codes(node, layout, &fused.codes));
    if (onnx_input(node, NBITS_ZEROS)) TRY(make_zeros(node, layout, &fused.zeros));
    return multiply_blocks(node, layout, &fused, is_half(onnx_input(node, NBITS_SCALES)), out);
}

/* ---- plain operators ---- */

static Error *make_weights(const OnnxNode *node, const NBits *layout, IrVariable **out) {
    IrVariable *codes, *scales, *zeros = onnx_input(node, NBITS_ZEROS);
    const bool floats = zeros && !is_packed(zeros);
    TRY(block_floats(node, layout, NBITS_SCALES, "scales", &scales));
    TRY(make_codes(node, layout, &codes));
    if (floats)
        TRY(block_floats(node, layout, NBITS_ZEROS, "zero_points", &zeros));
    else if (zeros)
        TRY(make_zeros(node, layout, &zeros));
    if (floats || onnx_input(node, NBITS_GROUPS))
        return spread(node, layout, codes, scales, zeros, out);
    return dequantize(node, layout, codes, scales, zeros, out);
}

/* A * weights', the rows of the weights being columns of the result. */
static Error *multiply(
    const OnnxNode *node, IrVariable *weights, bool transposed, IrVariable **out) {
    if (!onnx_input(node, NBITS_A)) FAIL(INVALID, "input A is missing");
    if (transposed) TRY(ir_build_swap_last(onnx_at(node), weights, 2, &weights));
    return ir_build_simple(
        onnx_at(node), "MatMul", NULL, node->inputs[NBITS_A], weights, NULL, out);
}

Error *onnx_convert_matmul_nbits(const OnnxNode *node) {
    NBits layout;
    IrVariable *result, *bias = onnx_input(node, NBITS_BIAS);
    TRY(read_layout(node, &layout));
    if (node->input_count > NBITS_BIAS + 1)
        FAIL(UNSUPPORTED, "%u inputs, not at most %d", node->input_count, NBITS_BIAS + 1);
    if (is_in_bytes(node, &layout)) {
        TRY(convert_in_bytes(node, &layout, &result));
        return onnx_node_set_output(node, 0, result);
    }
    TRY(make_weights(node, &layout, &result));
    TRY(multiply(node, result, true, &result));
    if (bias) TRY(ir_build_simple(onnx_at(node), "Add", NULL, result, bias, NULL, &result));
    return onnx_node_set_output(node, 0, result);
}

/* ---- MatMulBnb4 ---- */

/* The values that the codes stand for: the numbers of bitsandbytes, of the largest magnitude 1. */
static const float bnb4_values[2][BNB4_CODES] = {
    {0, 5.208333333e-03F, 0.66666667F, 1, 0.33333333F, 0.5F, 0.16666667F, 0.25F, -0.0F,
        -5.208333333e-03F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F},
    {-1, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F, -0.28444138169288635F,
        -0.18477343022823334F, -0.09105003625154495F, 0, 0.07958029955625534F, 0.16093020141124725F,
        0.24611230194568634F, 0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
        0.7229568362236023F, 1},
};

/* The codes in a matrix of so many elements or more; those after the last weight are 0. */
static Error *make_bnb4_codes(
    const OnnxNode *node, const NBits *layout, int64_t rows, int64_t columns, IrVariable **out) {
    Tensor *packed;
    TRY(few_bits_input(node, NBITS_B, "B", &packed));
    const int64_t count = layout->rows * layout->depth, dims[2] = {rows, columns};
    const Shape shape = shape_make(2, dims);
    const FewBits codes = {
        .packed = packed,
        .rows = 1,
        .row_bytes = (uint64_t)(count + 1) / 2,
        .count = (uint64_t)count,
        .bits = 4,
        .high_first = true,
    };
    return few_bits_constant(node, &codes, "B", &shape, out);
}

/* The first `count` elements. */
static Error *first_elements(
    const OnnxNode *node, IrVariable *tensor, int64_t count, IrVariable **out) {
    static const int64_t zero = 0, rest = -1;
    IrVariable *begin, *end;
    TRY(onnx_reshape(node, tensor, 1, &rest, &tensor));
    TRY(onnx_constant_ints(node, &zero, 1, &begin));
    TRY(onnx_constant_ints(node, &count, 1, &end));
    return ir_build_simple(onnx_at(node), "Slice", NULL, tensor, begin, end, out);
}

/* The weights: of the table by their codes, times the scales of their blocks. */
static Error *make_bnb4_weights(
    const OnnxNode *node, const NBits *layout, bool is_nf4, IrVariable **out) {
    const IrCursor at = onnx_at(node);
    const NBits matrix = {.rows = layout->blocks, .blocks = 1};
    IrVariable *codes, *table, *scales;
    TRY(block_floats(node, &matrix, BNB4_ABSMAX, "absmax", &scales));
    TRY(make_bnb4_codes(node, layout, layout->blocks, layout->block, &codes));
    TRY(ir_build_cast(at, codes, DTYPE_INT32, &codes));
    TRY(onnx_constant_floats(node, bnb4_values[is_nf4], BNB4_CODES, &table));
    TRY(ir_build_simple(at, "CastLike", NULL, table, scales, NULL, &table));
    TRY(ir_build_simple(at, "Gather", NULL, table, codes, NULL, &codes));
    TRY(ir_build_simple(at, "Mul", NULL, codes, scales, NULL, &codes));
    if (layout->rows * layout->depth % layout->block != 0)
        TRY(first_elements(node, codes, layout->rows * layout->depth, &codes));
    return reshape(node, codes, layout->rows, layout->depth, out);
}

/* Blocks that end with their rows are those of FusedMatMulBlocks. */
static bool is_bnb4_fused(const OnnxNode *node, const NBits *layout, bool transposed) {
    const IrVariable *scales = onnx_input(node, BNB4_ABSMAX);
    return transposed && takes_rows(node) && layout->depth % layout->block == 0 && scales &&
           ir_variable_tensor(scales);
}

static Error *convert_bnb4_fused(
    const OnnxNode *node, const NBits *layout, bool is_nf4, IrVariable **out) {
    const NBits matrix = {.rows = layout->rows, .blocks = layout->depth / layout->block};
    Fused fused = {0};
    TRY(block_floats(node, &matrix, BNB4_ABSMAX, "absmax", &fused.scales));
    TRY(make_bnb4_codes(node, layout, layout->rows, layout->depth, &fused.codes));
    TRY(onnx_constant_floats(node, bnb4_values[is_nf4], BNB4_CODES, &fused.values));
    return multiply_blocks(node, layout, &fused, is_half(onnx_input(node, BNB4_ABSMAX)), out);
}

Error *onnx_convert_matmul_bnb4(const OnnxNode *node) {
    static const char *const known[] = {
        "K", "N", "block_size", "quant_type", "transB", "training_mode", NULL};
    NBits layout = {0};
    IrVariable *weights, *result;
    int64_t table, transposed;
    TRY(onnx_attribute_check(node, known));
    TRY(read_sizes(node, &layout));
    TRY(onnx_attribute_int(node, "quant_type", -1, &table));
    if (table != 0 && table != 1)
        FAIL(INVALID, "quant_type is %" PRId64 ", not 0 (FP4) or 1 (NF4)", table);
    TRY(onnx_attribute_int(node, "transB", 1, &transposed));
    layout.blocks = (layout.rows * layout.depth + layout.block - 1) / layout.block;
    if (is_bnb4_fused(node, &layout, transposed != 0)) {
        TRY(convert_bnb4_fused(node, &layout, table == 1, &result));
        return onnx_node_set_output(node, 0, result);
    }
    TRY(make_bnb4_weights(node, &layout, table == 1, &weights));
    TRY(multiply(node, weights, transposed != 0, &result));
    return onnx_node_set_output(node, 0, result);
}
