/* Softmax(scale * Q @ K' + mask) @ V becomes one operator, so that the scores are never in memory.
 * The scale may stand at Q and K. Two masks are added to each other, also where
 * the second one is added to scores in windows. A mask by Where (scores, or a
 * large negative number) becomes an added mask. Weights that are not numbers may become 0, as
 * PyTorch's exporters write it for queries that see no key. ONNX's Attention is fused, too, unless
 * it has further features; its past is joined with keys and values before, where the pass append
 * can see a loop that makes them longer. */
#include <math.h>

#include "compiler/ir/ir_permutation.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/fusion.h"
#include "kernels/tensor/dtype_scalar.h"

typedef struct Scores {
    IrVariable *query, *key, *mask, *bias; /* mask, bias: NULL if there is none */
    Tensor *windows; /* a constant mask of one rank more, whose first size is 1; NULL: none */
    double scale;
    bool transposed_key;
} Scores;

static bool is_last_axis(const IrBinding *softmax) {
    int64_t axis = attributes_int(softmax->attributes, "axis");
    const IrType *type = &softmax->results[0]->type;
    return axis == -1 || (type->rank_known && axis == (int64_t)type->rank - 1);
}

/* The value in front of up to two products and quotients with scalars, which go into the scale. */
static IrVariable *strip_scale(
    const Fusion *fusion, const IrBinding *root, IrVariable *value, double *inout_scale) {
    double scalar;
    for (uint32_t step = 0; step < 2; step++) {
        const IrBinding *mul = fusion_sole_maker(fusion, root, value, OPERATOR_MUL);
        const IrBinding *div = fusion_sole_maker(fusion, root, value, OPERATOR_DIV);
        const IrVariable *scaled = value;
        if (mul && fusion_scalar(fusion_operand(mul, 1), &scalar)) {
            *inout_scale *= scalar;
            value = fusion_operand(mul, 0);
        } else if (mul && fusion_scalar(fusion_operand(mul, 0), &scalar)) {
            *inout_scale *= scalar;
            value = fusion_operand(mul, 1);
        } else if (div && fusion_scalar(fusion_operand(div, 1), &scalar) && scalar != 0) {
            *inout_scale /= scalar;
            value = fusion_operand(div, 0);
        }
        if (scaled != value && !fusion_same_rank(&scaled->type, &value->type)) return NULL;
    }
    return value;
}

/* The keys that two Reshapes around a Transpose turn into columns: [b, h, t, d] to [b * h, t, d],
 * [b * h, d, t] and [b, h, d, t]. NULL for another key. */
static IrVariable *flat_transposed(
    const Fusion *fusion, const IrBinding *root, const IrVariable *columns) {
    enum { RANK = 4 };
    const IrBinding *last = fusion_sole_maker(fusion, root, columns, OPERATOR_RESHAPE);
    const IrVariable *turned = last ? fusion_operand(last, 0) : NULL;
    const IrBinding *transpose = fusion_sole_maker(fusion, root, turned, OPERATOR_TRANSPOSE);
    if (!transpose || !ir_swaps_last(transpose)) return NULL;
    const IrVariable *flat = fusion_operand(transpose, 0);
    const IrBinding *first = fusion_sole_maker(fusion, root, flat, OPERATOR_RESHAPE);
    IrVariable *rows = first ? fusion_operand(first, 0) : NULL;
    if (!rows || !rows->type.rank_known || rows->type.rank != RANK) return NULL;
    if (!flat->type.rank_known || flat->type.rank != RANK - 1) return NULL;
    IrType swapped = rows->type, inner = flat->type;
    swapped.dims[RANK - 2] = rows->type.dims[RANK - 1];
    swapped.dims[RANK - 1] = rows->type.dims[RANK - 2];
    for (uint32_t i = 1; i < RANK - 1; i++) inner.dims[i] = rows->type.dims[i + 1];
    inner.dims[0] = flat->type.dims[0];
    return fusion_same_shape(&swapped, &columns->type) && fusion_same_shape(&inner, &flat->type)
               ? rows
               : NULL;
}

/* The product, perhaps scaled. */
static bool match_product(
    const Fusion *fusion, const IrBinding *root, IrVariable *value, Scores *scores) {
    scores->scale = 1;
    value = strip_scale(fusion, root, value, &scores->scale);
    const IrBinding *product = fusion_sole_maker(fusion, root, value, OPERATOR_MATMUL);
    if (!product) return false;
    scores->query = strip_scale(fusion, root, fusion_operand(product, 0), &scores->scale);
    scores->key = strip_scale(fusion, root, fusion_operand(product, 1), &scores->scale);
    if (!scores->query || !scores->key) return false;
    const IrBinding *transpose = fusion_sole_maker(fusion, root, scores->key, OPERATOR_TRANSPOSE);
    IrVariable *rows = flat_transposed(fusion, root, scores->key);
    scores->transposed_key = !rows && !(transpose && ir_swaps_last(transpose));
    if (!scores->transposed_key) scores->key = rows ? rows : fusion_operand(transpose, 0);
    return dtype_scalar_holds(value->type.dtype, scores->scale);
}

static bool is_mask(const IrVariable *mask, const IrVariable *value) {
    return fusion_broadcasts(&mask->type, &value->type);
}

/* The result of an equal operator without attributes in front of the root, such as an earlier
 * layer's mask, or NULL. */
static IrVariable *made_before(
    const IrBinding *root, OperatorId id, uint32_t count, IrVariable *const *inputs) {
    enum { SEARCH_MAX = 4096 };
    const IrBinding *maker = root->previous;
    for (uint32_t i = 0; maker && i < SEARCH_MAX; i++, maker = maker->previous) {
        if (maker->kind != IR_OPERATOR || maker->operator_info->id != id) continue;
        bool same = true;
        for (uint32_t k = 0; same && k < count; k++) {
            const IrVariable *operand = fusion_operand(maker, k);
            double mine, other;
            same = operand == inputs[k] ||
                   (fusion_scalar(operand, &other) && fusion_scalar(inputs[k], &mine) &&
                       mine == other && fusion_same_shape(&operand->type, &inputs[k]->type));
        }
        if (same) return maker->results[0];
    }
    return NULL;
}

/* The mask of Where(condition, scores, fill): 0 and fill by the condition, made once for all
 * layers. */
static Error *mask_of_where(
    Fusion *fusion, IrBinding *root, const IrBinding *where, IrVariable **out) {
    IrVariable *condition = fusion_operand(where, 0), *fill = fusion_operand(where, 2);
    IrVariable *inputs[3] = {condition, NULL, fill};
    Shape scalar = {0};
    TRY(constants_zeros(fusion->module, fill->type.dtype, &scalar, &inputs[1]));
    *out = made_before(root, OPERATOR_WHERE, 3, inputs);
    if (*out) return NULL;
    IrType type = condition->type;
    type.dtype = fill->type.dtype;
    return fusion_insert(fusion, root, "Where", NULL, 3, inputs, &type, out);
}

/* The sum of two constant masks; *out is NULL for other masks, and for large ones. */
static Error *add_constants(
    Fusion *fusion, const IrVariable *a, const IrVariable *b, IrVariable **out) {
    enum { BYTES_MAX = 4 << 20 };
    Tensor *inputs[2] = {ir_variable_tensor(a), ir_variable_tensor(b)};
    *out = NULL;
    if (!inputs[0] || !inputs[1]) return NULL;
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, sum) = NULL;
    bool done;
    const OperatorInfo *add = operator_get(OPERATOR_ADD);
    TRY(attributes_create(&attributes));
    TRY(attributes_check(attributes, add));
    TRY(evaluate_operator(
        fusion->context->portable, add, attributes, 2, inputs, 1, BYTES_MAX, &sum, &done));
    return sum ? ir_constant_tensor(fusion->module, sum, out) : NULL;
}

/* The sum of both masks, made once for all layers. */
static Error *add_masks(
    Fusion *fusion, IrBinding *root, IrVariable *mask, IrVariable **inout_mask) {
    IrVariable *inputs[2] = {*inout_mask, mask};
    *inout_mask = made_before(root, OPERATOR_ADD, 2, inputs);
    if (*inout_mask) return NULL;
    TRY(add_constants(fusion, inputs[0], inputs[1], inout_mask));
    if (*inout_mask) return NULL;
    const bool longer = inputs[0]->type.rank >= inputs[1]->type.rank;
    const IrType *large = &inputs[!longer]->type, *small = &inputs[longer]->type;
    IrType type = *large;
    for (uint32_t i = 1; i <= small->rank; i++)
        if (type.dims[large->rank - i] == 1)
            type.dims[large->rank - i] = small->dims[small->rank - i];
    return fusion_insert(fusion, root, "Add", NULL, 2, inputs, &type, inout_mask);
}

/* Matches scores with a mask or without. */
static bool match_added(
    const Fusion *fusion, const IrBinding *root, IrVariable *value, Scores *scores) {
    const IrBinding *add = fusion_sole_maker(fusion, root, value, OPERATOR_ADD);
    scores->mask = NULL;
    for (uint32_t i = 0; add && i < 2; i++) {
        IrVariable *inner = fusion_operand(add, i);
        if (!match_product(fusion, root, inner, scores)) continue;
        scores->mask = fusion_operand(add, 1 - i);
        return scores->mask->type.dtype == inner->type.dtype && is_mask(scores->mask, inner);
    }
    return match_product(fusion, root, value, scores);
}

/* The scores below Reshape(Reshape(scores) + mask), where the first Reshape puts a size of 1 in
 * front and the mask is a constant. Windowed attention adds the mask of each window so. NULL for
 * other values. */
static IrVariable *masked_in_windows(
    const Fusion *fusion, const IrBinding *root, const IrVariable *value, Tensor **out_mask) {
    const IrBinding *last = fusion_sole_maker(fusion, root, value, OPERATOR_RESHAPE);
    const IrVariable *sum = last ? fusion_operand(last, 0) : NULL;
    const IrBinding *add = sum ? fusion_sole_maker(fusion, root, sum, OPERATOR_ADD) : NULL;
    for (uint32_t i = 0; add && i < 2; i++) {
        const IrVariable *wide = fusion_operand(add, i), *mask = fusion_operand(add, 1 - i);
        const IrBinding *first = fusion_sole_maker(fusion, root, wide, OPERATOR_RESHAPE);
        IrVariable *scores = first ? fusion_operand(first, 0) : NULL;
        if (!scores || !ir_variable_tensor(mask) || mask->type.dtype != scores->type.dtype)
            continue;
        if (!fusion_same_shape(&scores->type, &value->type) || value->type.rank == SHAPE_RANK_MAX)
            continue;
        IrType type = ir_type_tensor(scores->type.dtype);
        type.rank_known = true;
        type.rank = scores->type.rank + 1;
        type.dims[0] = 1;
        for (uint32_t d = 1; d < type.rank; d++) type.dims[d] = scores->type.dims[d - 1];
        if (!fusion_same_shape(&type, &wide->type) || !fusion_same_shape(&type, &sum->type))
            continue;
        if (!mask->type.rank_known || mask->type.rank != type.rank || !is_mask(mask, wide))
            continue;
        *out_mask = ir_variable_tensor(mask);
        return scores;
    }
    return NULL;
}

/* Matches the value before the scores' Softmax. *out_where: a Where that must become a mask. Its
 * fill must be so small that masked scores vanish in the sum; for float16 only -infinity is. */
static bool match_masked(const Fusion *fusion, const IrBinding *root, IrVariable *value,
    Scores *scores, const IrBinding **out_where) {
    enum { SMALL_ENOUGH = -100000000 };
    const IrBinding *add = fusion_sole_maker(fusion, root, value, OPERATOR_ADD);
    const IrBinding *where = fusion_sole_maker(fusion, root, value, OPERATOR_WHERE);
    *out_where = NULL;
    scores->mask = scores->bias = NULL;
    scores->windows = NULL;
    IrVariable *plain = masked_in_windows(fusion, root, value, &scores->windows);
    if (plain) return match_added(fusion, root, plain, scores);
    for (uint32_t i = 0; add && i < 2; i++)
        if (match_added(fusion, root, fusion_operand(add, i), scores)) {
            IrVariable **last = scores->mask ? &scores->bias : &scores->mask;
            *last = fusion_operand(add, 1 - i);
            return (*last)->type.dtype == value->type.dtype &&
                   is_mask(*last, fusion_operand(add, i));
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

/* Puts the mask of windows beside the one that there may be. */
static Error *take_windows(const Fusion *fusion, Scores *scores) {
    const Shape *wide = &scores->windows->shape;
    const Shape shape = shape_make(wide->rank - 1, wide->dims + 1);
    OWN(Tensor, mask) = NULL;
    TRY(tensor_reshape(scores->windows, &shape, &mask));
    return ir_constant_tensor(fusion->module, mask, scores->mask ? &scores->bias : &scores->mask);
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

/* The Softmax that makes the weights, perhaps with 0 where a weight is not a number. */
static const IrBinding *find_softmax(
    const Fusion *fusion, const IrBinding *root, const IrVariable *weights, bool *out_clears) {
    const IrBinding *where = fusion_sole_maker(fusion, root, weights, OPERATOR_WHERE);
    double zero;
    *out_clears = where != NULL;
    if (!where) return fusion_sole_maker(fusion, root, weights, OPERATOR_SOFTMAX);
    const IrVariable *kept = fusion_operand(where, 2);
    const IrBinding *test =
        fusion_sole_maker(fusion, root, fusion_operand(where, 0), OPERATOR_IS_NAN);
    if (!test || fusion_operand(test, 0) != kept || fusion_uses(fusion, kept) != 2) return NULL;
    if (!fusion_scalar(fusion_operand(where, 1), &zero) || zero != 0) return NULL;
    return fusion_maker(root, kept, OPERATOR_SOFTMAX);
}

static Error *rule(Fusion *fusion, IrBinding *root) {
    if (root->operator_info->id == OPERATOR_ATTENTION) return fuse_operator(fusion, root);
    if (root->operator_info->id != OPERATOR_MATMUL) return NULL;
    bool clears;
    const IrBinding *softmax = find_softmax(fusion, root, fusion_operand(root, 0), &clears);
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
    if (scores.windows) TRY(take_windows(fusion, &scores));
    if (scores.bias) TRY(add_masks(fusion, root, scores.bias, &scores.mask));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "scale", scores.scale));
    TRY(attributes_set_int(attributes, "transposed_key", scores.transposed_key));
    if (clears) TRY(attributes_set_int(attributes, "zero_nan", 1));
    IrVariable *inputs[4] = {scores.query, scores.key, fusion_operand(root, 1), scores.mask};
    return fusion_replace(fusion, root, "FusedAttention", attributes, 4, inputs);
}

Error *fuse_attention_pass(PassContext *context) { return fusion_run(context, rule); }
