/* Fuses written-out layer normalisations: (x - mean) / sqrt(mean of squares + epsilon), with a
 * scale and a shift, over the last axis. Without the mean: RMSNormalization. */
#include "compiler/passes/fusion.h"

/* x for a ReduceMean of x over the last axis that keeps the axis. */
static IrVariable *mean_input(const IrBinding *consumer, const IrVariable *mean) {
    const IrBinding *reduce = fusion_maker(consumer, mean, OPERATOR_REDUCE_MEAN);
    int64_t axis;
    if (!reduce || attributes_int(reduce->attributes, "keepdims") != 1) return NULL;
    if (!fusion_integer(fusion_operand(reduce, 1), &axis)) return NULL;
    IrVariable *input = fusion_operand(reduce, 0);
    bool last = axis == -1 || (input->type.rank_known && axis == (int64_t)input->type.rank - 1);
    return last ? input : NULL;
}

/* x for x * x, written as Pow(x, 2) or Mul(x, x). */
static IrVariable *square_input(const IrBinding *consumer, const IrVariable *square) {
    const IrBinding *pow = fusion_maker(consumer, square, OPERATOR_POW);
    if (pow && fusion_scalar_is(fusion_operand(pow, 1), 2)) return fusion_operand(pow, 0);
    const IrBinding *mul = fusion_maker(consumer, square, OPERATOR_MUL);
    if (mul && fusion_operand(mul, 0) == fusion_operand(mul, 1)) return fusion_operand(mul, 0);
    return NULL;
}

/* x for sqrt(mean(x * x) + epsilon). */
static IrVariable *root_input(
    const IrBinding *consumer, const IrVariable *root, double *out_epsilon) {
    const IrBinding *sqrt = fusion_maker(consumer, root, OPERATOR_SQRT);
    const IrBinding *add =
        sqrt ? fusion_maker(consumer, fusion_operand(sqrt, 0), OPERATOR_ADD) : NULL;
    for (uint32_t i = 0; add && i < 2; i++) {
        if (!fusion_scalar(fusion_operand(add, 1 - i), out_epsilon)) continue;
        IrVariable *square = mean_input(consumer, fusion_operand(add, i));
        return square ? square_input(consumer, square) : NULL;
    }
    return NULL;
}

/* x for x / sqrt(mean(x * x) + epsilon), also as a product with the reciprocal. */
static IrVariable *normalized_input(
    const IrBinding *consumer, const IrVariable *value, double *out_epsilon) {
    const IrBinding *div = fusion_maker(consumer, value, OPERATOR_DIV);
    if (div) {
        IrVariable *x = fusion_operand(div, 0);
        const IrVariable *one_over = fusion_operand(div, 1);
        return root_input(consumer, one_over, out_epsilon) == x ? x : NULL;
    }
    const IrBinding *mul = fusion_maker(consumer, value, OPERATOR_MUL);
    for (uint32_t i = 0; mul && i < 2; i++) {
        IrVariable *x = fusion_operand(mul, i);
        const IrBinding *reciprocal =
            fusion_maker(consumer, fusion_operand(mul, 1 - i), OPERATOR_RECIPROCAL);
        if (reciprocal && root_input(consumer, fusion_operand(reciprocal, 0), out_epsilon) == x)
            return x;
    }
    return NULL;
}

/* True for a row [N], N being the last dimension of the value. */
static bool is_row(const IrVariable *row, const IrVariable *value) {
    const IrType *type = &row->type, *of = &value->type;
    return type->kind == IR_TYPE_TENSOR && type->rank_known && type->rank == 1 &&
           type->dtype == of->dtype && of->rank_known && of->rank > 0 &&
           type->dims[0] == of->dims[of->rank - 1] && type->dims[0] >= 0;
}

static Error *replace(Fusion *fusion, IrBinding *binding, const char *operator_name, double epsilon,
    uint32_t count, IrVariable *const *inputs) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", -1));
    TRY(attributes_set_float(attributes, "epsilon", epsilon));
    return fusion_replace(fusion, binding, operator_name, attributes, count, inputs);
}

/* The product with the scale. */
static Error *at_mul(Fusion *fusion, IrBinding *mul) {
    double epsilon;
    for (uint32_t i = 0; i < 2; i++) {
        IrVariable *value = fusion_operand(mul, i), *scale = fusion_operand(mul, 1 - i);
        if (fusion_uses(fusion, value) != 1 || !is_row(scale, value)) continue;
        IrVariable *centred = normalized_input(mul, value, &epsilon);
        if (!centred) continue;
        const IrBinding *sub = fusion_maker(mul, centred, OPERATOR_SUB);
        IrVariable *x = sub ? fusion_operand(sub, 0) : NULL;
        bool layer = x && mean_input(mul, fusion_operand(sub, 1)) == x;
        IrVariable *inputs[2] = {layer ? x : centred, scale};
        if (!fusion_same_rank(&inputs[0]->type, &mul->results[0]->type)) continue;
        return replace(
            fusion, mul, layer ? "LayerNormalization" : "RMSNormalization", epsilon, 2, inputs);
    }
    return NULL;
}

/* The sum with the shift. */
static Error *at_add(Fusion *fusion, IrBinding *add) {
    IrBinding *norm;
    IrVariable *shift;
    if (!fusion_split(fusion, add, OPERATOR_LAYER_NORMALIZATION, &norm, &shift)) return NULL;
    if (norm->result_count != 1 || fusion_operand(norm, 2) ||
        attributes_int(norm->attributes, "axis") != -1 || !is_row(shift, norm->results[0]))
        return NULL;
    IrVariable *inputs[3] = {fusion_operand(norm, 0), fusion_operand(norm, 1), shift};
    return replace(fusion, add, "LayerNormalization", attributes_float(norm->attributes, "epsilon"),
        3, inputs);
}

static Error *rule(Fusion *fusion, IrBinding *binding) {
    if (binding->operator_info->id == OPERATOR_MUL) return at_mul(fusion, binding);
    if (binding->operator_info->id == OPERATOR_ADD) return at_add(fusion, binding);
    return NULL;
}

Error *fuse_normalizations_pass(PassContext *context) { return fusion_run(context, rule); }
