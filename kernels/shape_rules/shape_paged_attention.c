#include "kernels/shape_rules/shape_paged_attention.h"

#include <inttypes.h>

#include "base/checked.h"
#include "kernels/shape_rules/shape_rules_internal.h"

static Error *read_queries(const PlanRequest *request, PagedAttentionShape *shape) {
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT32_AND_HALF));
    TRY(rule_check_rank(request, 0, 3));
    const Shape *q = rule_shape(request, 0);
    shape->queries = q->dims[0];
    shape->heads = q->dims[1];
    shape->depth = q->dims[2];
    if (shape->depth < 1 || shape->depth > INT32_MAX)
        FAIL(INVALID, "queries of %" PRId64 " elements", shape->depth);
    shape->columns = attributes_int(request->attributes, "value_size");
    if (shape->columns < 0 || shape->columns > INT32_MAX)
        FAIL(INVALID, "value_size %" PRId64, shape->columns);
    if (shape->columns == 0) shape->columns = shape->depth;
    return NULL;
}

static Error *read_own(const PlanRequest *request, PagedAttentionShape *shape) {
    if (rule_has(request, 3) != rule_has(request, 4))
        FAIL(INVALID, "keys and values come together");
    if (!rule_has(request, 3)) return NULL;
    TRY(rule_check_same_dtype(request, 3, 0));
    TRY(rule_check_same_dtype(request, 4, 0));
    TRY(rule_check_rank(request, 3, 3));
    const Shape *k = rule_shape(request, 3);
    shape->own = k->dims[0];
    shape->kv_heads = k->dims[1];
    if (k->dims[2] != shape->depth)
        FAIL(
            INVALID, "keys of %" PRId64 " elements, queries of %" PRId64, k->dims[2], shape->depth);
    const int64_t values[3] = {shape->own, shape->kv_heads, shape->columns};
    return rule_check_shape(request, 4, 3, values);
}

static Error *read_tables(const PlanRequest *request, PagedAttentionShape *shape) {
    for (uint32_t i = 1; i < 3; i++) TRY(rule_check_dtype(request, i, DTYPE_BIT(DTYPE_INT32)));
    TRY(rule_check_rank(request, 1, 1));
    shape->keys = rule_shape(request, 1)->dims[0];
    const int64_t bounds[2] = {shape->queries, PAGED_ATTENTION_BOUNDS};
    TRY(rule_check_shape(request, 2, 2, bounds));
    if (rule_has(request, 5)) {
        TRY(rule_check_dtype(request, 5, DTYPE_BIT(DTYPE_FLOAT32)));
        TRY(rule_check_rank(request, 5, 3));
        shape->positions = rule_shape(request, 5)->dims[0];
        const int64_t angles[3] = {shape->positions, 2, shape->depth / 2};
        TRY(rule_check_shape(request, 5, 3, angles));
        if (shape->depth % 2 != 0)
            FAIL(INVALID, "keys of %" PRId64 " elements are not turned", shape->depth);
    }
    if (!rule_has(request, 6)) return NULL;
    TRY(rule_check_dtype(request, 6, DTYPE_BIT(DTYPE_BOOL)));
    TRY(rule_check_rank(request, 6, 2));
    shape->tree = rule_shape(request, 6)->dims[1];
    const int64_t tree[2] = {shape->queries, shape->tree};
    return rule_check_shape(request, 6, 2, tree);
}

static Error *read_pages(const PlanRequest *request, PagedAttentionShape *shape) {
    if (request->input_count <= PAGED_ATTENTION_PAGES) {
        if (!rule_has(request, 3)) shape->kv_heads = 1; /* there are no keys */
        return NULL;
    }
    shape->page_inputs = request->input_count - PAGED_ATTENTION_PAGES;
    for (uint32_t i = PAGED_ATTENTION_PAGES; i < request->input_count; i++) {
        if (!rule_has(request, i)) FAIL(INVALID, "input %u is absent", i);
        TRY(rule_check_same_dtype(request, i, 0));
    }
    TRY(rule_check_rank(request, PAGED_ATTENTION_PAGES, 5));
    const Shape *pages = rule_shape(request, PAGED_ATTENTION_PAGES);
    for (uint32_t i = PAGED_ATTENTION_PAGES + 1; i < request->input_count; i++)
        TRY(rule_check_shape(request, i, 5, pages->dims));
    shape->parts = pages->dims[2];
    if (shape->parts != 1 && shape->parts != 2)
        FAIL(INVALID, "rows of pages have %" PRId64 " parts, not 1 or 2", shape->parts);
    if (!rule_has(request, 3)) shape->kv_heads = pages->dims[3];
    if (pages->dims[3] != shape->kv_heads || pages->dims[4] != shape->depth)
        FAIL(INVALID, "pages have %" PRId64 " heads of %" PRId64 ", not %" PRId64 " of %" PRId64,
            pages->dims[3], pages->dims[4], shape->kv_heads, shape->depth);
    if (shape->parts == 2 ? shape->columns != shape->depth : shape->columns > shape->depth)
        FAIL(INVALID, "values of %" PRId64 " elements in pages of %" PRId64, shape->columns,
            shape->depth);
    if (!checked_mul_i64(pages->dims[0], pages->dims[1], &shape->rows_of_an_input) ||
        shape->rows_of_an_input > INT32_MAX / (int64_t)shape->page_inputs)
        FAIL(INVALID, "pages have too many rows");
    return NULL;
}

Error *paged_attention_shape_read(const PlanRequest *request, PagedAttentionShape *out) {
    PagedAttentionShape shape = {0};
    TRY(read_queries(request, &shape));
    TRY(read_own(request, &shape));
    TRY(read_tables(request, &shape));
    TRY(read_pages(request, &shape));
    if (shape.kv_heads < 1 || shape.heads < 1 || shape.heads % shape.kv_heads != 0)
        FAIL(INVALID, "%" PRId64 " heads of queries share %" PRId64 " of keys", shape.heads,
            shape.kv_heads);
    *out = shape;
    return NULL;
}

Error *shape_rule_paged_attention(PlanRequest *request) {
    PagedAttentionShape shape;
    TRY(paged_attention_shape_read(request, &shape));
    const Shape y = {.rank = 3, .dims = {shape.queries, shape.heads, shape.columns}};
    const Shape sums = {.rank = 2, .dims = {shape.queries, shape.heads}};
    rule_set(request, 0, rule_dtype(request, 0), &y);
    rule_set(request, 1, DTYPE_FLOAT32, &sums);
    return NULL;
}
