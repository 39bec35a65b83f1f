/* Attention: the compiler's fused operator, and ONNX's, which uses the fused one unless an
 * intermediate result is wanted. */
#include <math.h>

#include "kernels/shape_rules/expansion_builder.h"
#include "kernels/shape_rules/shape_attention.h"

/* ---- FusedAttention ---- */

/* Moves [T, .., D] to [.., T, D], or to [.., D, T]. */
static Error *add_rows_moved(ExpansionBuilder *builder, bool columns, uint32_t *inout_value) {
    const uint32_t rank = expansion_spec(builder, *inout_value).shape.rank;
    if (rank < 2) FAIL(INVALID, "an operand of rank %u with its rows first", rank);
    int64_t perm[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i + 2 < rank; i++) perm[i] = i + 1;
    perm[rank - 2] = columns ? rank - 1 : 0;
    perm[rank - 1] = columns ? 0 : rank - 1;
    return expansion_transpose(builder, *inout_value, perm, inout_value);
}

/* Zeros for the weights that are no numbers. */
static Error *add_zeros(ExpansionBuilder *builder, uint32_t *inout_value) {
    uint32_t zero, test;
    TRY(expansion_scalar(builder, expansion_spec(builder, *inout_value).dtype, 0, &zero));
    TRY(expansion_unary(builder, OPERATOR_IS_NAN, *inout_value, &test));
    return expansion_where(builder, test, zero, *inout_value, inout_value);
}

Error *expand_fused_attention(ExpansionBuilder *builder) {
    const Attributes *attributes = builder->request->attributes;
    const bool columns = attributes_int(attributes, "transposed_key");
    const bool rows_first = attributes_int(attributes, "key_rows_first");
    uint32_t value = 0, key = 1, weighed = 2, scale;
    if (columns && rows_first) FAIL(INVALID, "a key both transposed and with its rows first");
    if (rows_first) TRY(add_rows_moved(builder, true, &key));
    if (!columns && !rows_first) TRY(expansion_swap(builder, &key));
    if (attributes_int(attributes, "value_rows_first"))
        TRY(add_rows_moved(builder, false, &weighed));
    TRY(expansion_scalar(
        builder, builder->request->inputs[0].dtype, attributes_float(attributes, "scale"), &scale));
    TRY(expansion_binary(builder, OPERATOR_MATMUL, value, key, &value));
    TRY(expansion_binary(builder, OPERATOR_MUL, value, scale, &value));
    if (expansion_input(builder, 3) != EXPANSION_ABSENT)
        TRY(expansion_binary(builder, OPERATOR_ADD, value, 3, &value));
    TRY(expansion_unary(builder, OPERATOR_SOFTMAX, value, &value));
    if (attributes_int(attributes, "zero_nan")) TRY(add_zeros(builder, &value));
    TRY(expansion_binary(builder, OPERATOR_MATMUL, value, weighed, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

/* ---- Attention ---- */

typedef struct Attention {
    ExpansionBuilder *builder;
    AttentionShape shape;
    DType dtype; /* of the computation: the query's */
    /* [batch, kv_heads, group, queries, depth]. If each head has a single query, the queries of a
     * group form one matrix: [batch, kv_heads, 1, group, depth]. */
    uint32_t query;
    uint32_t key, value; /* [batch, kv_heads, 1, keys, depth or columns] */
    /* broadcasts to query's shape with keys in place of depth; or absent */
    uint32_t bias;
    uint32_t is_fully_masked; /* for each row of the bias; absent: no row can be fully masked */
    uint32_t zero;
    double softcap, scale;
} Attention;

/* [batch, rows, heads * size] becomes [batch, heads, rows, size]. */
static Error *add_heads(ExpansionBuilder *builder, int64_t heads, uint32_t value, uint32_t *out) {
    static const int64_t perm[4] = {0, 2, 1, 3};
    const Shape given = expansion_spec(builder, value).shape;
    *out = value;
    if (given.rank == 4) return NULL;
    const Shape split = {
        .rank = 4, .dims = {given.dims[0], given.dims[1], heads, given.dims[2] / heads}};
    TRY(expansion_reshape(builder, value, &split, out));
    return expansion_transpose(builder, *out, perm, out);
}

/* Reshapes to [batch, heads of keys, group, rows, columns]: a group is the heads of the query that
 * share a head of the keys. With a single query, the group takes the place of the rows. */
static Error *add_group(const Attention *attention, int64_t group, uint32_t value, uint32_t *out) {
    const Shape given = expansion_spec(attention->builder, value).shape;
    const uint32_t rank = given.rank;
    const int64_t rows = given.dims[rank - 2];
    const bool joined = attention->shape.queries == 1 && rows == 1;
    const Shape grouped = {.rank = 5,
        .dims = {rank == 4 ? given.dims[0] : 1, given.dims[rank - 3] / group, joined ? 1 : group,
            joined ? group : rows, given.dims[rank - 1]}};
    return expansion_reshape(attention->builder, value, &grouped, out);
}

/* Prepares the query, and keys and values behind the past ones. */
static Error *add_operands(Attention *attention) {
    ExpansionBuilder *builder = attention->builder;
    const AttentionShape *shape = &attention->shape;
    uint32_t key, value;
    TRY(add_heads(builder, shape->heads, 0, &attention->query));
    TRY(add_heads(builder, shape->kv_heads, 1, &key));
    TRY(add_heads(builder, shape->kv_heads, 2, &value));
    if (expansion_input(builder, 4) != EXPANSION_ABSENT) {
        TRY(expansion_concat(builder, 4, key, 2, &key));
        TRY(expansion_concat(builder, 5, value, 2, &value));
    }
    expansion_set_output(builder, 1, key);
    expansion_set_output(builder, 2, value);
    TRY(add_group(attention, shape->heads / shape->kv_heads, attention->query, &attention->query));
    TRY(add_group(attention, 1, key, &attention->key));
    TRY(add_group(attention, 1, value, &attention->value));
    return expansion_cast(builder, attention->value, attention->dtype, &attention->value);
}

/* The mask as a summand: in the computation's type, padded to the number of keys, its heads in
 * groups. */
static Error *add_mask(Attention *attention) {
    ExpansionBuilder *builder = attention->builder;
    const AttentionShape *shape = &attention->shape;
    uint32_t mask = 3, least;
    TRY(expansion_scalar(builder, attention->dtype, -INFINITY, &least));
    if (expansion_spec(builder, mask).dtype == DTYPE_BOOL)
        TRY(expansion_where(builder, mask, attention->zero, least, &mask));
    TRY(expansion_cast(builder, mask, attention->dtype, &mask));
    Shape given = expansion_spec(builder, mask).shape;
    if (given.rank > 0 && given.dims[given.rank - 1] < shape->keys) {
        int64_t pads[2 * SHAPE_RANK_MAX] = {0};
        uint32_t inputs[3] = {mask, 0, least};
        pads[2 * given.rank - 1] = shape->keys - given.dims[given.rank - 1];
        TRY(expansion_ints(builder, pads, 2 * given.rank, &inputs[1]));
        TRY(expansion_call(builder, (ExpansionCall){OPERATOR_PAD, NULL, 3, inputs, 1}, &mask));
        given = expansion_spec(builder, mask).shape;
    }
    if (given.rank > 2) {
        const bool is_shared = given.dims[given.rank - 3] == 1;
        TRY(add_group(attention, is_shared ? 1 : shape->heads / shape->kv_heads, mask, &mask));
    }
    attention->bias = mask;
    return NULL;
}

/* 0, 1 … count - 1 as an int64 vector */
static Error *add_range(ExpansionBuilder *builder, int64_t count, uint32_t *out) {
    uint32_t inputs[3];
    const double values[3] = {0, (double)count, 1};
    for (uint32_t i = 0; i < 3; i++)
        TRY(expansion_scalar(builder, DTYPE_INT64, values[i], &inputs[i]));
    return expansion_call(builder, (ExpansionCall){OPERATOR_RANGE, NULL, 3, inputs, 1}, out);
}

/* Restricts `allowed` to elements with value <relation> limit. */
static Error *add_limit(ExpansionBuilder *builder, OperatorId relation, uint32_t value,
    uint32_t limit, uint32_t *inout_allowed) {
    uint32_t allowed;
    TRY(expansion_binary(builder, relation, value, limit, &allowed));
    if (*inout_allowed == EXPANSION_ABSENT)
        *inout_allowed = allowed;
    else
        TRY(expansion_binary(builder, OPERATOR_AND, *inout_allowed, allowed, inout_allowed));
    return NULL;
}

/* The position of each query among the keys: [.., queries, 1]. */
static Error *add_positions(const Attention *attention, uint32_t lengths, uint32_t *out) {
    ExpansionBuilder *builder = attention->builder;
    const AttentionShape *shape = &attention->shape;
    const Shape column = {.rank = 2, .dims = {shape->queries, 1}};
    uint32_t queries, offset;
    TRY(add_range(builder, shape->queries, &queries));
    TRY(expansion_reshape(builder, queries, &column, &queries));
    TRY(expansion_scalar(builder, DTYPE_INT64,
        (double)(lengths == EXPANSION_ABSENT ? shape->past : -shape->queries), &offset));
    if (lengths != EXPANSION_ABSENT)
        TRY(expansion_binary(builder, OPERATOR_ADD, lengths, offset, &offset));
    return expansion_binary(builder, OPERATOR_ADD, queries, offset, out);
}

/* Which keys each query may see by position; absent: all keys. */
static Error *add_allowed(const Attention *attention, uint32_t *out) {
    ExpansionBuilder *builder = attention->builder;
    const AttentionShape *shape = &attention->shape;
    uint32_t keys, positions, limit, lengths = expansion_input(builder, 6);
    *out = EXPANSION_ABSENT;
    if (lengths == EXPANSION_ABSENT && shape->left < 0 && shape->right < 0) return NULL;
    TRY(add_range(builder, shape->keys, &keys));
    if (lengths != EXPANSION_ABSENT) {
        const Shape apart = {.rank = 5, .dims = {shape->batch, 1, 1, 1, 1}};
        TRY(expansion_reshape(builder, lengths, &apart, &lengths));
        TRY(add_limit(builder, OPERATOR_LESS, keys, lengths, out));
    }
    if (shape->left < 0 && shape->right < 0) return NULL;
    TRY(add_positions(attention, lengths, &positions));
    if (shape->right >= 0) {
        TRY(expansion_scalar(builder, DTYPE_INT64, (double)shape->right, &limit));
        TRY(expansion_binary(builder, OPERATOR_ADD, positions, limit, &limit));
        TRY(add_limit(builder, OPERATOR_LESS_OR_EQUAL, keys, limit, out));
    }
    if (shape->left >= 0) {
        TRY(expansion_scalar(builder, DTYPE_INT64, (double)shape->left, &limit));
        TRY(expansion_binary(builder, OPERATOR_SUB, positions, limit, &limit));
        TRY(add_limit(builder, OPERATOR_GREATER_OR_EQUAL, keys, limit, out));
    }
    return NULL;
}

/* Whether a query may see no key at all. If only later keys are hidden, every query sees the first
 * key. */
static bool may_hide_rows(const Attention *attention) {
    const ExpansionBuilder *builder = attention->builder;
    return expansion_input(builder, 3) != EXPANSION_ABSENT ||
           expansion_input(builder, 6) != EXPANSION_ABSENT || attention->shape.left >= 0 ||
           attention->shape.keys == 0;
}

static Error *add_bias(Attention *attention) {
    ExpansionBuilder *builder = attention->builder;
    uint32_t allowed, least, most;
    const int64_t last = -1;
    attention->bias = attention->is_fully_masked = EXPANSION_ABSENT;
    TRY(expansion_scalar(builder, attention->dtype, 0, &attention->zero));
    if (expansion_input(builder, 3) != EXPANSION_ABSENT) TRY(add_mask(attention));
    TRY(add_allowed(attention, &allowed));
    TRY(expansion_scalar(builder, attention->dtype, -INFINITY, &least));
    if (allowed != EXPANSION_ABSENT) {
        const uint32_t seen =
            attention->bias == EXPANSION_ABSENT ? attention->zero : attention->bias;
        TRY(expansion_where(builder, allowed, seen, least, &attention->bias));
    }
    if (attention->bias == EXPANSION_ABSENT || !may_hide_rows(attention)) return NULL;
    if (expansion_spec(builder, attention->bias).shape.rank == 0)
        most = attention->bias;
    else
        TRY(expansion_reduce(builder, OPERATOR_REDUCE_MAX, attention->bias, &last, 1, true, &most));
    return expansion_binary(builder, OPERATOR_EQUAL, most, least, &attention->is_fully_masked);
}

/* Zeros for the queries that see nothing. */
static Error *add_guard(const Attention *attention, uint32_t value, uint32_t *out) {
    uint32_t zero;
    *out = value;
    if (attention->is_fully_masked == EXPANSION_ABSENT) return NULL;
    TRY(expansion_scalar(
        attention->builder, expansion_spec(attention->builder, value).dtype, 0, &zero));
    return expansion_where(attention->builder, attention->is_fully_masked, zero, value, out);
}

/* Computes softmax(scale * Q K' + bias) V by one operator. */
static Error *add_fused(const Attention *attention, uint32_t *out) {
    const uint32_t inputs[4] = {
        attention->query, attention->key, attention->value, attention->bias};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "scale", attention->scale));
    TRY(expansion_call(attention->builder,
        (ExpansionCall){OPERATOR_FUSED_ATTENTION, TAKE(attributes), 4, inputs, 1}, out));
    return add_guard(attention, *out, out);
}

static Error *add_product(const Attention *attention, uint32_t *out) {
    const uint32_t inputs[2] = {attention->query, attention->key};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "alpha", attention->scale));
    TRY(attributes_set_int(attributes, "transB", 1));
    return expansion_call(attention->builder,
        (ExpansionCall){OPERATOR_FUSED_MATMUL, TAKE(attributes), 2, inputs, 1}, out);
}

static Error *add_softcap(const Attention *attention, uint32_t value, uint32_t *out) {
    ExpansionBuilder *builder = attention->builder;
    uint32_t cap;
    *out = value;
    if (!(attention->softcap > 0)) return NULL;
    TRY(expansion_scalar(builder, attention->dtype, attention->softcap, &cap));
    TRY(expansion_binary(builder, OPERATOR_DIV, value, cap, &value));
    TRY(expansion_unary(builder, OPERATOR_TANH, value, &value));
    return expansion_binary(builder, OPERATOR_MUL, value, cap, out);
}

/* Sets output 3 to the scores after this step if output 3 shows this step. */
static Error *show(const Attention *attention, uint32_t step, uint32_t value) {
    const AttentionShape *shape = &attention->shape;
    if (!expansion_wants(attention->builder, 3) || shape->shown_step != step) return NULL;
    const Shape flat = {
        .rank = 4, .dims = {shape->batch, shape->heads, shape->queries, shape->keys}};
    TRY(expansion_reshape(attention->builder, value, &flat, &value));
    expansion_set_output(attention->builder, 3, value);
    return NULL;
}

/* Computes attention step by step, and sets output 3 after the step that it shows. */
static Error *add_steps(const Attention *attention, uint32_t *out) {
    ExpansionBuilder *builder = attention->builder;
    uint32_t value;
    TRY(add_product(attention, &value));
    TRY(show(attention, 0, value));
    TRY(add_softcap(attention, value, &value));
    TRY(show(attention, 1, value));
    if (attention->bias != EXPANSION_ABSENT)
        TRY(expansion_binary(builder, OPERATOR_ADD, value, attention->bias, &value));
    TRY(show(attention, 2, value));
    TRY(expansion_cast(builder, value, attention->shape.softmax_dtype, &value));
    TRY(expansion_unary(builder, OPERATOR_SOFTMAX, value, &value));
    TRY(add_guard(attention, value, &value));
    TRY(expansion_cast(builder, value, attention->dtype, &value));
    TRY(show(attention, 3, value));
    return expansion_binary(builder, OPERATOR_MATMUL, value, attention->value, out);
}

/* FusedAttention computes in float32 at least. */
static bool is_fusible(const Attention *attention) {
    const DType precise = attention->shape.softmax_dtype;
    return !expansion_wants(attention->builder, 3) && !(attention->softcap > 0) &&
           (precise == attention->dtype ||
               (precise == DTYPE_FLOAT32 && attention->dtype != DTYPE_FLOAT64));
}

Error *expand_attention(ExpansionBuilder *builder) {
    static const int64_t perm[4] = {0, 2, 1, 3};
    const PlanRequest *request = builder->request;
    Attention attention = {.builder = builder, .dtype = request->inputs[0].dtype};
    TRY(attention_shape_read(request, &attention.shape));
    const AttentionShape *shape = &attention.shape;
    attention.softcap = attributes_float(request->attributes, "softcap");
    attention.scale = attributes_has(request->attributes, "scale")
                          ? attributes_float(request->attributes, "scale")
                          : 1 / sqrt((double)shape->depth);
    uint32_t value;
    TRY(add_operands(&attention));
    TRY(add_bias(&attention));
    if (is_fusible(&attention))
        TRY(add_fused(&attention, &value));
    else
        TRY(add_steps(&attention, &value));
    const Shape heads = {
        .rank = 4, .dims = {shape->batch, shape->heads, shape->queries, shape->columns}};
    const Shape packed = {
        .rank = 3, .dims = {shape->batch, shape->queries, shape->heads * shape->columns}};
    TRY(expansion_reshape(builder, value, &heads, &value));
    if (shape->is_packed) {
        TRY(expansion_transpose(builder, value, perm, &value));
        TRY(expansion_reshape(builder, value, &packed, &value));
    }
    expansion_set_output(builder, 0, value);
    return NULL;
}
