#include "kernels/shape_rules/shape_attention.h"

#include <inttypes.h>

#include "base/checked.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* Reads the number of heads: dimension 1 of rank 4; for rank 3 the attribute, which divides the
 * last dimension. */
static Error *read_heads(
    const PlanRequest *request, uint32_t index, const char *name, int64_t *out, int64_t *out_size) {
    const Shape *shape = rule_shape(request, index);
    const bool given = attributes_has(request->attributes, name);
    int64_t heads = given ? attributes_int(request->attributes, name) : 0;
    if (shape->rank == 4) {
        if (given && heads != shape->dims[1])
            FAIL(INVALID, "%s %" PRId64 ", input %u has %" PRId64, name, heads, index,
                shape->dims[1]);
        *out = shape->dims[1];
        *out_size = shape->dims[3];
        return NULL;
    }
    if (!given) FAIL(INVALID, "operands of rank 3 need %s", name);
    if (heads < 1 || shape->dims[2] % heads != 0)
        FAIL(INVALID, "%s %" PRId64 " does not divide the %" PRId64 " columns of input %u", name,
            heads, shape->dims[2], index);
    *out = heads;
    *out_size = shape->dims[2] / heads;
    return NULL;
}

static Error *read_operands(const PlanRequest *request, AttentionShape *shape) {
    const uint32_t rank = rule_shape(request, 0)->rank;
    if (rank != 3 && rank != 4) FAIL(INVALID, "input 0 has rank %u, not 3 or 4", rank);
    TRY(rule_check_rank(request, 1, rank));
    TRY(rule_check_rank(request, 2, rank));
    const Shape *q = rule_shape(request, 0), *k = rule_shape(request, 1);
    const Shape *v = rule_shape(request, 2);
    int64_t key_depth, value_heads;
    shape->is_packed = rank == 3;
    TRY(read_heads(request, 0, "q_num_heads", &shape->heads, &shape->depth));
    TRY(read_heads(request, 1, "kv_num_heads", &shape->kv_heads, &key_depth));
    TRY(read_heads(request, 2, "kv_num_heads", &value_heads, &shape->columns));
    const uint32_t rows = rank - 2;
    shape->batch = q->dims[0];
    shape->queries = q->dims[shape->is_packed ? 1 : rows];
    shape->keys = k->dims[shape->is_packed ? 1 : rows];
    if (key_depth != shape->depth)
        FAIL(INVALID, "keys of %" PRId64 " elements, queries of %" PRId64, key_depth, shape->depth);
    if (value_heads != shape->kv_heads || v->dims[shape->is_packed ? 1 : rows] != shape->keys ||
        k->dims[0] != shape->batch || v->dims[0] != shape->batch)
        FAIL(INVALID, "keys and values do not fit each other or the batch of %" PRId64,
            shape->batch);
    if (shape->kv_heads < 1 || shape->heads < 1 || shape->heads % shape->kv_heads != 0)
        FAIL(INVALID, "%" PRId64 " heads of queries share %" PRId64 " of keys", shape->heads,
            shape->kv_heads);
    return NULL;
}

/* Reads the length of the past, and adds it to the keys. */
static Error *read_past(const PlanRequest *request, AttentionShape *shape) {
    if (rule_has(request, 4) != rule_has(request, 5))
        FAIL(INVALID, "past_key and past_value come together");
    if (rule_has(request, 6) && rule_has(request, 4))
        FAIL(INVALID, "nonpad_kv_seqlen together with past_key");
    TRY(rule_check_dtype(request, 6, DTYPE_BIT(DTYPE_INT64)));
    TRY(rule_check_shape(request, 6, 1, &shape->batch));
    if (!rule_has(request, 4)) return NULL;
    TRY(rule_check_rank(request, 4, 4));
    shape->past = rule_shape(request, 4)->dims[2];
    const int64_t key[4] = {shape->batch, shape->kv_heads, shape->past, shape->depth};
    const int64_t value[4] = {shape->batch, shape->kv_heads, shape->past, shape->columns};
    TRY(rule_check_shape(request, 4, 4, key));
    TRY(rule_check_shape(request, 5, 4, value));
    TRY(rule_check_same_dtype(request, 4, 0));
    TRY(rule_check_same_dtype(request, 5, 2));
    if (!checked_add_i64(shape->past, shape->keys, &shape->keys)) FAIL(INVALID, "too many keys");
    return NULL;
}

/* The mask's last dimension may be shorter than the number of keys: keys beyond it are hidden. */
static Error *check_mask(const PlanRequest *request, const AttentionShape *shape) {
    TRY(rule_check_dtype(request, 3, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)));
    if (!rule_has(request, 3)) return NULL;
    const Shape *mask = rule_shape(request, 3);
    const int64_t scores[4] = {shape->batch, shape->heads, shape->queries, shape->keys};
    if (mask->rank > 4) FAIL(INVALID, "a mask of rank %u", mask->rank);
    for (uint32_t i = 0; i < mask->rank; i++) {
        const int64_t dim = mask->dims[i], wanted = scores[4 - mask->rank + i];
        const bool fits = i + 1 == mask->rank ? dim <= wanted : dim == 1 || dim == wanted;
        if (!fits)
            FAIL(INVALID, "dimension %u of the mask is %" PRId64 ", the scores have %" PRId64, i,
                dim, wanted);
    }
    return NULL;
}

static Error *read_window(const PlanRequest *request, AttentionShape *shape) {
    const Attributes *attributes = request->attributes;
    shape->left = attributes_int(attributes, "left_window_size");
    shape->right = attributes_int(attributes, "right_window_size");
    /* float64 holds every position, which is a sum of these numbers and sizes */
    if (shape->left < -1 || shape->left > INT32_MAX || shape->right < -1 ||
        shape->right > INT32_MAX)
        FAIL(INVALID, "a window from %" PRId64 " to %" PRId64, shape->left, shape->right);
    if (attributes_int(attributes, "is_causal") != 0) shape->right = 0;
    return NULL;
}

static Error *read_modes(const PlanRequest *request, AttentionShape *shape) {
    const Attributes *attributes = request->attributes;
    const int64_t step = attributes_int(attributes, "qk_matmul_output_mode");
    if (step < 0 || step > 3) FAIL(INVALID, "qk_matmul_output_mode %" PRId64, step);
    shape->shown_step = (uint32_t)step;
    shape->softmax_dtype = rule_dtype(request, 0);
    if (attributes_has(attributes, "softmax_precision"))
        shape->softmax_dtype = attributes_dtype(attributes, "softmax_precision");
    if (!(DTYPES_FLOAT >> shape->softmax_dtype & 1))
        FAIL(INVALID, "softmax_precision %s", dtype_name(shape->softmax_dtype));
    return NULL;
}

Error *attention_shape_read(const PlanRequest *request, AttentionShape *out) {
    AttentionShape shape = {0};
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_dtype(request, 2, DTYPES_FLOAT));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(read_operands(request, &shape));
    TRY(read_past(request, &shape));
    TRY(check_mask(request, &shape));
    TRY(read_window(request, &shape));
    TRY(read_modes(request, &shape));
    *out = shape;
    return NULL;
}

Error *shape_rule_attention(PlanRequest *request) {
    AttentionShape shape;
    TRY(attention_shape_read(request, &shape));
    const int64_t batch = shape.batch, kv_heads = shape.kv_heads, keys = shape.keys;
    Shape y = {.rank = 4, .dims = {batch, shape.heads, shape.queries, shape.columns}};
    if (shape.is_packed) {
        y = (Shape){.rank = 3, .dims = {batch, shape.queries}};
        if (!checked_mul_i64(shape.heads, shape.columns, &y.dims[2]))
            FAIL(INVALID, "values too large for %" PRId64 " heads", shape.heads);
    }
    const Shape key = {.rank = 4, .dims = {batch, kv_heads, keys, shape.depth}};
    const Shape value = {.rank = 4, .dims = {batch, kv_heads, keys, shape.columns}};
    const Shape scores = {.rank = 4, .dims = {batch, shape.heads, shape.queries, keys}};
    rule_set(request, 0, rule_dtype(request, 0), &y);
    rule_set(request, 1, rule_dtype(request, 0), &key);
    rule_set(request, 2, rule_dtype(request, 2), &value);
    rule_set(request, 3, rule_dtype(request, 0), &scores);
    return NULL;
}
