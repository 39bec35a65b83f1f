/* Softmax(scale * Q @ K' + mask) @ V becomes one operator, so that the scores are never in memory.
 * A mask by Where (scores, or a large negative number) becomes an added mask. ONNX's Attention is
 * fused, too, unless it has further features; its past is joined with keys and values before, where
 * the pass append can see a loop that makes them longer. */
#include <math.h>

#include "compiler/ir/ir_permutation.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/fusion.h"
#include "kernels/tensor/dtype_scalar.h"

typedef struct Scores {
    IrVariable *query, *key, *mask; /* mask: NULL if there is none */
    double scale;
    bool transposed_key;
} Scores;

static bool is_last_axis(const IrBinding *softmax) {
    int64_t axis = attributes_int(softmax->attributes, "axis");
    const IrType *type = &softmax->results[0]->type;
    return axis == -1 || (type->rank_known && axis == (int64_t)type->rank - 1);
}

/* The product, perhaps scaled. */
static bool match_product(
    const Fusion *fusion, const IrBinding *root, IrVariable *value, Scores *scores) {
    double scalar;
    const IrVariable *scaled = value;
    scores->scale = 1;
    for (uint32_t step = 0; step < 2; step++) {
        const IrBinding *mul = fusion_sole_maker(fusion, root, value, OPERATOR_MUL);
        const IrBinding *div = fusion_sole_maker(fusion, root, value, OPERATOR_DIV);
        if (mul && fusion_scalar(fusion_operand(mul, 1), &scalar)) {
            scores->scale *= scalar;
            value = fusion_operand(mul, 0);
        } else if (mul && fusion_scalar(fusion_operand(mul, 0), &scalar)) {
            scores->scale *= scalar;
            value = fusion_operand(mul, 1);
        } else if (div && fusion_scalar(fusion_operand(div, 1), &scalar) && scalar != 0) {
            scores->scale /= scalar;
            value = fusion_operand(div, 0);
        }
    }
    const IrBinding *product = fusion_sole_maker(fusion, root, value, OPERATOR_MATMUL);
    if (!product || (scaled != value && !fusion_same_rank(&scaled->type, &value->type)))
        return false;
    scores->query = fusion_operand(product, 0);
    scores->key = fusion_operand(product, 1);
    const IrBinding *transpose = fusion_sole_maker(fusion, root, scores->key, OPERATOR_TRANSPOSE);
    scores->transposed_key = !(transpose && ir_swaps_last(transpose));
    if (!scores->transposed_key) scores->key = fusion_operand(transpose, 0);
    return dtype_scalar_holds(value->type.dtype, scores->scale);
}

static bool is_mask(const IrVariable *mask, const IrVariable *value) {
    return fusion_broadcasts(&mask->type, &value->type);
}

/* The mask of Where(condition, scores, fill): 0 and fill by the condition, made once for all
 * layers. */
static Error *mask_of_where(
    Fusion *fusion, IrBinding *root, const IrBinding *where, IrVariable **out) {
    enum { SEARCH_MAX = 64 };
    IrVariable *condition = fusion_operand(where, 0), *fill = fusion_operand(where, 2);
    const IrBinding *maker = where->previous;
    /* an earlier layer's equal mask stands before that layer's attention */
    for (uint32_t i = 0; maker && i < SEARCH_MAX * SEARCH_MAX; i++, maker = maker->previous) {
        if (maker->kind != IR_OPERATOR || maker->operator_info->id != OPERATOR_WHERE) continue;
        double zero;
        if (fusion_operand(maker, 0) != condition || fusion_operand(maker, 2) != fill) continue;
        if (!fusion_scalar(fusion_operand(maker, 1), &zero) || zero != 0) continue;
        *out = maker->results[0];
        return NULL;
    }
    IrVariable *inputs[3] = {condition, NULL, fill};
    Shape scalar = {0};
    TRY(constants_zeros(fusion->module, fill->type.dtype, &scalar, &inputs[1]));
    IrType type = condition->type;
    type.dtype = fill->type.dtype;
    return fusion_insert(fusion, root, "Where", NULL, 3, inputs, &type, out);
}

/* Matches the value before the scores' Softmax. *out_where: a Where that must become a mask. Its
 * fill must be so small that masked scores vanish in the sum; for float16 only -infinity is. */
static bool match_masked(const Fusion *fusion, const IrBinding *root, IrVariable *value,
    Scores *scores, const IrBinding **out_where) {
    enum { SMALL_ENOUGH = -100000000 };
    const IrBinding *add = fusion_sole_maker(fusion, root, value, OPERATOR_ADD);
    const IrBinding *where = fusion_sole_maker(fusion, root, value, OPERATOR_WHERE);
    *out_where = NULL;
    scores->mask = NULL;
    for (uint32_t i = 0; add && i < 2; i++) {
        IrVariable *inner = fusion_operand(add, i);
        if (!match_product(fusion, root, inner, scores)) continue;
        scores->mask = fusion_operand(add, 1 - i);
        return scores->mask->type.dtype == inner->type.dtype && is_mask(scores->mask, inner);
    }
    double fill;
    if (where && fusion_scalar(fusion_operand(where, 2), &fill) && fill <= SMALL_ENOUGH) {
        IrVariable *inner = fusion_operand(where, 1);
        *out_where = where;
        return is_mask(fusion_operand(where, 0), inner) &&
               is_mask(fusion_operand(where, 2), inner) &&
               match_product(fusion, root, inner, scores);
    }
    return match_product(fusion, root, value, scores);
}

/* A key with a Transpose of its own into columns is transposed into rows instead, which copies runs
 * of elements. */
static Error *key_in_rows(Fusion *fusion, IrBinding *root, Scores *scores) {
    const IrBinding *transpose = fusion_sole_maker(fusion, root, scores->key, OPERATOR_TRANSPOSE);
    uint32_t count = 0;
    const int64_t *permutation =
        transpose ? attributes_ints(transpose->attributes, "perm", &count) : NULL;
    if (!scores->transposed_key || !permutation || count < 2 || count > SHAPE_RANK_MAX) return NULL;
    int64_t swapped[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < count; i++) swapped[i] = permutation[i];
    swapped[count - 1] = permutation[count - 2];
    swapped[count - 2] = permutation[count - 1];
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_ints(attributes, "perm", swapped, count));
    IrType type = scores->key->type;
    type.dims[count - 1] = scores->key->type.dims[count - 2];
    type.dims[count - 2] = scores->key->type.dims[count - 1];
    IrVariable *input = fusion_operand(transpose, 0);
    scores->transposed_key = false;
    return fusion_insert(fusion, root, "Transpose", attributes, 1, &input, &type, &scores->key);
}

/* ---- ONNX's Attention ---- */

enum {
    ATTENTION_MASK = 3,
    ATTENTION_PAST = 4,
    ATTENTION_LENGTHS = 6,
    ATTENTION_SCORES = 3,
    HEADS = 1
};

/* [batch, heads, rows, size] of the same element type and heads. */
static bool are_of_heads(const IrBinding *attention) {
    const IrType *query = &fusion_operand(attention, 0)->type;
    for (uint32_t i = 0; i < 3; i++) {
        const IrType *type = &fusion_operand(attention, i)->type;
        if (!type->rank_known || type->rank != 4 || type->dtype != query->dtype) return false;
        if (type->dims[HEADS] < 1 || type->dims[HEADS] != query->dims[HEADS]) return false;
    }
    return fusion_takes(query->dtype);
}

static bool is_plain(const Fusion *fusion, const IrBinding *attention) {
    const Attributes *attributes = attention->attributes;
    if (attributes_int(attributes, "is_causal") != 0) return false;
    if (attributes_int(attributes, "left_window_size") >= 0) return false;
    if (attributes_int(attributes, "right_window_size") >= 0) return false;
    if (attributes_float(attributes, "softcap") != 0) return false;
    if (attributes_has(attributes, "softmax_precision")) return false;
    if (fusion_operand(attention, ATTENTION_MASK)) return false;
    if (fusion_operand(attention, ATTENTION_LENGTHS)) return false;
    return attention->result_count <= ATTENTION_SCORES ||
           fusion_uses(fusion, attention->results[ATTENTION_SCORES]) == 0;
}

/* Keys or values with those of the past in front. */
static Error *join_past(Fusion *fusion, IrBinding *attention, uint32_t index, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[2] = {
        fusion_operand(attention, ATTENTION_PAST + index - 1), fusion_operand(attention, index)};
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 2));
    return fusion_insert(
        fusion, attention, "Concat", attributes, 2, inputs, &attention->results[index]->type, out);
}

static Error *fuse_operator(Fusion *fusion, IrBinding *root) {
    const bool has_past = fusion_operand(root, ATTENTION_PAST) != NULL;
    if (!is_plain(fusion, root) || !are_of_heads(root)) return NULL;
    if (has_past && (root->result_count < 3 || !fusion_operand(root, ATTENTION_PAST + 1)))
        return NULL;
    const int64_t size = fusion_operand(root, 0)->type.dims[3];
    if (!attributes_has(root->attributes, "scale") && size < 1) return NULL;
    const double scale = attributes_has(root->attributes, "scale")
                             ? attributes_float(root->attributes, "scale")
                             : (double)(float)(1 / sqrt((double)size));
    if (!dtype_scalar_holds(DTYPE_FLOAT32, scale)) return NULL;
    OWN(Attributes, attributes) = NULL;
    IrVariable *inputs[3] = {
        fusion_operand(root, 0), fusion_operand(root, 1), fusion_operand(root, 2)};
    for (uint32_t i = 1; i < 3 && has_past; i++) TRY(join_past(fusion, root, i, &inputs[i]));
    for (uint32_t i = 1; i < 3 && i < root->result_count; i++)
        TRY(fusion_stand_for(fusion, root->results[i], inputs[i]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "scale", scale));
    TRY(attributes_set_int(attributes, "transposed_key", 0));
    return fusion_replace(fusion, root, "FusedAttention", attributes, 3, inputs);
}

static Error *rule(Fusion *fusion, IrBinding *root) {
    if (root->operator_info->id == OPERATOR_ATTENTION) return fuse_operator(fusion, root);
    if (root->operator_info->id != OPERATOR_MATMUL) return NULL;
    const IrBinding *softmax =
        fusion_sole_maker(fusion, root, fusion_operand(root, 0), OPERATOR_SOFTMAX);
    if (!softmax || !is_last_axis(softmax)) return NULL;
    if (!fusion_takes(root->results[0]->type.dtype)) return NULL;
    Scores scores;
    const IrBinding *where;
    if (!match_masked(fusion, root, fusion_operand(softmax, 0), &scores, &where)) return NULL;
    const IrVariable *value = fusion_operand(root, 1);
    const IrVariable *const ranked[3] = {scores.query, scores.key, value};
    for (uint32_t i = 0; i < 3; i++)
        if (!ranked[i]->type.rank_known || ranked[i]->type.rank < 2) return NULL;
    TRY(key_in_rows(fusion, root, &scores));
    if (where) TRY(mask_of_where(fusion, root, where, &scores.mask));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "scale", scores.scale));
    TRY(attributes_set_int(attributes, "transposed_key", scores.transposed_key));
    IrVariable *inputs[4] = {scores.query, scores.key, fusion_operand(root, 1), scores.mask};
    return fusion_replace(fusion, root, "FusedAttention", attributes, 4, inputs);
}

Error *fuse_attention_pass(PassContext *context) { return fusion_run(context, rule); }
