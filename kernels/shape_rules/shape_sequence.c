#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/shape_rules/shape_rules_internal.h"

/* ---- RotaryEmbedding ---- */

/* Heads and rows of [batch, heads, rows, size] or [batch, rows, heads * size]. */
static Error *read_rotary(const PlanRequest *request, int64_t *out_rows, int64_t *out_head_size) {
    const Shape *x = rule_shape(request, 0);
    const bool given = attributes_has(request->attributes, "num_heads");
    const int64_t heads = given ? attributes_int(request->attributes, "num_heads") : 0;
    if (x->rank == 4) {
        *out_rows = x->dims[2];
        *out_head_size = x->dims[3];
        return NULL;
    }
    if (x->rank != 3) FAIL(INVALID, "input 0 has rank %u, not 3 or 4", x->rank);
    if (heads < 1 || x->dims[2] % heads != 0)
        FAIL(INVALID, "num_heads %" PRId64 " for %" PRId64 " columns", heads, x->dims[2]);
    *out_rows = x->dims[1];
    *out_head_size = x->dims[2] / heads;
    return NULL;
}

static Error *check_caches(const PlanRequest *request, int64_t rows, int64_t half) {
    const int64_t batch = rule_shape(request, 0)->dims[0];
    const Shape *cosines = rule_shape(request, 1);
    const int64_t of_rows[3] = {batch, rows, half}, positions[2] = {batch, rows};
    TRY(rule_check_dtype(request, 3, DTYPE_BIT(DTYPE_INT64)));
    TRY(rule_check_shape(request, 3, 2, positions));
    if (!rule_has(request, 3)) {
        TRY(rule_check_shape(request, 1, 3, of_rows));
        return rule_check_shape(request, 2, 3, of_rows);
    }
    TRY(rule_check_rank(request, 1, 2));
    const int64_t all[2] = {cosines->dims[0], half};
    TRY(rule_check_shape(request, 1, 2, all));
    return rule_check_shape(request, 2, 2, all);
}

Error *shape_rule_rotary_embedding(PlanRequest *request) {
    int64_t rows, head_size;
    int64_t rotated = attributes_int(request->attributes, "rotary_embedding_dim");
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_same_dtype(request, 1, 0));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(read_rotary(request, &rows, &head_size));
    if (rotated == 0) rotated = head_size;
    if (rotated < 0 || rotated > head_size || rotated % 2 != 0)
        FAIL(INVALID, "%" PRId64 " of %" PRId64 " columns of a head to rotate", rotated, head_size);
    TRY(check_caches(request, rows, rotated / 2));
    rule_set(request, 0, rule_dtype(request, 0), rule_shape(request, 0));
    return NULL;
}

/* ---- LinearAttention ---- */

static Error *check_gates(const PlanRequest *request, int64_t heads, int64_t depth) {
    const char *rule = attributes_text(request->attributes, "update_rule");
    const bool is_delta = strcmp(rule, "delta") == 0, is_gated = strcmp(rule, "gated") == 0;
    const bool is_both = strcmp(rule, "gated_delta") == 0;
    if (!is_delta && !is_gated && !is_both && strcmp(rule, "linear") != 0)
        FAIL(INVALID, "update_rule \"%.40s\"", rule);
    if (rule_has(request, 4) != (is_gated || is_both))
        FAIL(INVALID, "update_rule \"%s\" %s decay", rule,
            rule_has(request, 4) ? "does not take" : "needs");
    if (rule_has(request, 5) != (is_delta || is_both))
        FAIL(INVALID, "update_rule \"%s\" %s beta", rule,
            rule_has(request, 5) ? "does not take" : "needs");
    for (uint32_t i = 4; i < 6; i++) {
        if (!rule_has(request, i)) continue;
        TRY(rule_check_rank(request, i, 3));
        const Shape *q = rule_shape(request, 0), *gate = rule_shape(request, i);
        const int64_t columns = gate->dims[2];
        const bool fits =
            columns == heads ||
            (i == 4 ? columns / heads == depth && columns % heads == 0 : columns == 1);
        if (gate->dims[0] != q->dims[0] || gate->dims[1] != q->dims[1] || !fits)
            FAIL(INVALID,
                "input %u is [%" PRId64 ", %" PRId64 ", %" PRId64 "] for %" PRId64
                " heads of %" PRId64,
                i, gate->dims[0], gate->dims[1], columns, heads, depth);
    }
    return NULL;
}

Error *shape_rule_linear_attention(PlanRequest *request) {
    const int64_t q_heads = attributes_int(request->attributes, "q_num_heads");
    const int64_t heads = attributes_int(request->attributes, "kv_num_heads");
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT32_AND_HALF));
    TRY(rule_check_dtype(request, 3, DTYPES_FLOAT32_AND_HALF));
    for (uint32_t i = 1; i < request->input_count; i++)
        if (i != 3) TRY(rule_check_same_dtype(request, i, 0));
    for (uint32_t i = 0; i < 3; i++) TRY(rule_check_rank(request, i, 3));
    const Shape *q = rule_shape(request, 0), *k = rule_shape(request, 1);
    const Shape *v = rule_shape(request, 2);
    if (heads < 1 || q_heads < 1 || q_heads % heads != 0)
        FAIL(INVALID, "q_num_heads %" PRId64 " and kv_num_heads %" PRId64, q_heads, heads);
    if (q->dims[2] % q_heads != 0 || k->dims[2] % heads != 0 || v->dims[2] % heads != 0 ||
        q->dims[2] / q_heads != k->dims[2] / heads)
        FAIL(INVALID,
            "%" PRId64 ", %" PRId64 " and %" PRId64 " columns for %" PRId64 " and %" PRId64
            " heads",
            q->dims[2], k->dims[2], v->dims[2], q_heads, heads);
    for (uint32_t i = 0; i < 2; i++)
        if (k->dims[i] != q->dims[i] || v->dims[i] != q->dims[i])
            FAIL(INVALID, "dimension %u of query, key and value differ", i);
    const int64_t depth = k->dims[2] / heads, columns = v->dims[2] / heads;
    const Shape state = {.rank = 4, .dims = {q->dims[0], heads, depth, columns}};
    Shape output = {.rank = 3, .dims = {q->dims[0], q->dims[1]}};
    TRY(rule_check_shape(request, 3, 4, state.dims));
    TRY(check_gates(request, heads, depth));
    if (!checked_mul_i64(q_heads, columns, &output.dims[2]))
        FAIL(INVALID, "%" PRId64 " heads of %" PRId64, q_heads, columns);
    rule_set(request, 0, rule_dtype(request, 0), &output);
    rule_set(request, 1, rule_dtype(request, rule_has(request, 3) ? 3 : 0), &state);
    return NULL;
}

/* ---- Multinomial ---- */

Error *shape_rule_multinomial(PlanRequest *request) {
    const DType dtype = attributes_dtype(request->attributes, "dtype");
    const int64_t samples = attributes_int(request->attributes, "sample_size");
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_rank(request, 0, 2));
    if (dtype != DTYPE_INT32 && dtype != DTYPE_INT64) FAIL(INVALID, "dtype %s", dtype_name(dtype));
    const Shape *x = rule_shape(request, 0);
    if (samples < 0) FAIL(INVALID, "sample_size %" PRId64, samples);
    if (x->dims[1] < 1 || x->dims[1] > INT32_MAX)
        FAIL(INVALID, "samples of %" PRId64 " classes", x->dims[1]);
    const Shape shape = {.rank = 2, .dims = {x->dims[0], samples}};
    rule_set(request, 0, dtype, &shape);
    return NULL;
}
