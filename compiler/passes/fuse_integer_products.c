/* Fuses what stands behind a product of bytes: the cast of its sums and their scale
 * (FusedMatMulInteger), and then a bias of the sums and a quantization (FusedQLinearMatMul). Biases
 * and activations of floats are left to fuse_epilogues. */
#include <string.h>

#include "compiler/ir/constants.h"
#include "compiler/passes/fusion.h"

/* A product whose sums are scaled: sums * (a_scale * b_scale). */
typedef struct Scaled {
    const IrBinding *product; /* MatMulInteger */
    IrVariable *bias;         /* of the sums, int32; NULL: none */
    IrVariable *a_scale, *b_scale;
} Scaled;

static bool is_float(const IrVariable *variable) {
    return variable && variable->type.kind == IR_TYPE_TENSOR &&
           variable->type.dtype == DTYPE_FLOAT32;
}

/* Whether it has one element, in at most one dimension. */
static bool is_single(const IrVariable *variable) {
    const IrType *type = &variable->type;
    return type->rank_known && (type->rank == 0 || (type->rank == 1 && type->dims[0] == 1));
}

/* The number of columns of the product, or a negative one. */
static int64_t columns_of(const IrBinding *product) {
    const IrType *a = &fusion_operand(product, 0)->type, *b = &fusion_operand(product, 1)->type;
    if (!a->rank_known || !b->rank_known || a->rank < 2 || b->rank < 2) return IR_DIM_UNKNOWN;
    return b->dims[b->rank - 1];
}

/* Whether there is one number for each column. */
static bool is_row(const IrVariable *variable, int64_t columns) {
    const IrType *type = &variable->type;
    return type->rank_known && type->rank == 1 && columns >= 0 && type->dims[0] == columns;
}

static Error *one(Fusion *fusion, IrVariable **out) {
    static const float number = 1;
    const Shape shape = {0};
    TRY(constants_zeros(fusion->module, DTYPE_FLOAT32, &shape, out));
    memcpy(tensor_data(ir_variable_tensor(*out)), &number, sizeof number);
    return NULL;
}

/* Splits the scale of the sums in those of A and of B. *out_done false: another form. */
static Error *read_scale(
    Fusion *fusion, const IrBinding *root, IrVariable *scale, Scaled *out, bool *out_done) {
    const int64_t columns = columns_of(out->product);
    const IrBinding *mul = fusion_maker(root, scale, OPERATOR_MUL);
    *out_done = false;
    if (!is_float(scale)) return NULL;
    for (uint32_t i = 0; mul && i < 2; i++) {
        IrVariable *a = fusion_operand(mul, i), *b = fusion_operand(mul, 1 - i);
        if (!is_single(a) || (!is_single(b) && !is_row(b, columns))) continue;
        out->a_scale = a, out->b_scale = b;
        *out_done = true;
        return NULL;
    }
    if (!is_single(scale) && !is_row(scale, columns)) return NULL;
    TRY(one(fusion, &out->a_scale));
    out->b_scale = scale;
    *out_done = true;
    return NULL;
}

/* A bias [N] of the sums, or NULL. */
static const IrBinding *biased_product(const Fusion *fusion, const IrBinding *cast, Scaled *out) {
    const IrVariable *sums = fusion_operand(cast, 0);
    const IrBinding *product = fusion_sole_maker(fusion, cast, sums, OPERATOR_MATMUL_INTEGER);
    out->bias = NULL;
    if (product) return product;
    const IrBinding *add = fusion_sole_maker(fusion, cast, sums, OPERATOR_ADD);
    if (!add) return NULL;
    IrBinding *made;
    if (!fusion_split(fusion, add, OPERATOR_MATMUL_INTEGER, &made, &out->bias)) return NULL;
    return is_row(out->bias, columns_of(made)) ? made : NULL;
}

/* Reads Mul(Cast(sums), scale). */
static Error *read_scaled(Fusion *fusion, const IrBinding *mul, Scaled *out, bool *out_done) {
    IrBinding *cast;
    IrVariable *scale;
    *out_done = false;
    if (!fusion_split(fusion, mul, OPERATOR_CAST, &cast, &scale)) return NULL;
    if (!is_float(mul->results[0]) || !is_float(cast->results[0])) return NULL;
    out->product = biased_product(fusion, cast, out);
    if (!out->product || columns_of(out->product) < 0) return NULL;
    return read_scale(fusion, mul, scale, out, out_done);
}

static Error *at_mul(Fusion *fusion, IrBinding *mul) {
    Scaled scaled;
    bool done;
    TRY(read_scaled(fusion, mul, &scaled, &done));
    if (!done || scaled.bias) return NULL;
    IrVariable *inputs[6] = {fusion_operand(scaled.product, 0), fusion_operand(scaled.product, 1),
        scaled.a_scale, scaled.b_scale, fusion_operand(scaled.product, 2),
        fusion_operand(scaled.product, 3)};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    return fusion_replace(fusion, mul, "FusedMatMulInteger", attributes, 6, inputs);
}

/* A zero point that an operator left out: 0. */
static Error *zero_point(Fusion *fusion, DType dtype, IrVariable **inout) {
    const Shape shape = {0};
    return *inout ? NULL : constants_zeros(fusion->module, dtype, &shape, inout);
}

/* QuantizeLinear to bytes of one scale. */
static bool quantizes(const IrBinding *binding) {
    const DType to = binding->results[0]->type.dtype;
    const IrVariable *scale = fusion_operand(binding, 1), *zero = fusion_operand(binding, 2);
    if (to != DTYPE_INT8 && to != DTYPE_UINT8) return false;
    return is_float(scale) && is_single(scale) && (!zero || is_single(zero));
}

static Error *at_quantize(Fusion *fusion, IrBinding *quantize) {
    Scaled scaled;
    bool done = false;
    const IrBinding *mul =
        fusion_sole_maker(fusion, quantize, fusion_operand(quantize, 0), OPERATOR_MUL);
    if (!mul || !quantizes(quantize)) return NULL;
    TRY(read_scaled(fusion, mul, &scaled, &done));
    if (!done) return NULL;
    const IrBinding *product = scaled.product;
    IrVariable *a = fusion_operand(product, 0), *b = fusion_operand(product, 1);
    IrVariable *inputs[9] = {a, scaled.a_scale, fusion_operand(product, 2), b, scaled.b_scale,
        fusion_operand(product, 3), fusion_operand(quantize, 1), fusion_operand(quantize, 2),
        scaled.bias};
    TRY(zero_point(fusion, a->type.dtype, &inputs[2]));
    TRY(zero_point(fusion, b->type.dtype, &inputs[5]));
    TRY(zero_point(fusion, quantize->results[0]->type.dtype, &inputs[7]));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    return fusion_replace(fusion, quantize, scaled.bias ? "FusedQLinearMatMul" : "QLinearMatMul",
        attributes, scaled.bias ? 9 : 8, inputs);
}

/* A quantization behind comes before the scale: seen from the end of a block. */
static Error *rule(Fusion *fusion, IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    if (id == OPERATOR_QUANTIZE_LINEAR) return at_quantize(fusion, binding);
    return id == OPERATOR_MUL ? at_mul(fusion, binding) : NULL;
}

Error *fuse_integer_products_pass(PassContext *context) {
    return fusion_run_backwards(context, rule);
}
