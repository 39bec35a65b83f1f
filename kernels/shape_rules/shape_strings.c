/* Operators of strings. Dimensions that depend on the strings' contents are -1. */
#include <inttypes.h>
#include <string.h>

#include "kernels/tensor/regex.h"
#include "kernels/shape_rules/shape_rules_internal.h"

#define STRING_SET DTYPE_BIT(DTYPE_STRING)

Error *shape_rule_string_concat(PlanRequest *request) {
    Shape shape;
    TRY(rule_check_dtype(request, 0, STRING_SET));
    TRY(rule_check_dtype(request, 1, STRING_SET));
    TRY(shape_broadcast(rule_shape(request, 0), rule_shape(request, 1), &shape));
    rule_set(request, 0, DTYPE_STRING, &shape);
    return NULL;
}

/* The pieces, padded to the longest element's count, and the count of each element. */
Error *shape_rule_string_split(PlanRequest *request) {
    Shape shape = *rule_shape(request, 0);
    TRY(rule_check_dtype(request, 0, STRING_SET));
    rule_set(request, 1, DTYPE_INT64, &shape);
    TRY(rule_push(&shape, -1));
    rule_set(request, 0, DTYPE_STRING, &shape);
    return NULL;
}

/* From [C] or [1, C] to the texts that are not stop words. */
Error *shape_rule_string_normalizer(PlanRequest *request) {
    const Shape *input = rule_shape(request, 0);
    const char *action = attributes_text(request->attributes, "case_change_action");
    TRY(rule_check_dtype(request, 0, STRING_SET));
    if (strcmp(action, "LOWER") != 0 && strcmp(action, "UPPER") != 0 && strcmp(action, "NONE") != 0)
        FAIL(INVALID, "case_change_action \"%.40s\"", action);
    if (input->rank == 0 || input->rank > 2 || (input->rank == 2 && input->dims[0] != 1))
        FAIL(INVALID, "strings that are neither [C] nor [1, C]");
    Shape shape = *input;
    shape.dims[shape.rank - 1] = -1;
    rule_set(request, 0, DTYPE_STRING, &shape);
    return NULL;
}

Error *shape_rule_string_hash(PlanRequest *request) {
    TRY(rule_check_dtype(request, 0, STRING_SET));
    rule_set(request, 0, DTYPE_UINT32, rule_shape(request, 0));
    return NULL;
}

Error *shape_rule_regex_full_match(PlanRequest *request) {
    OWN(Regex, regex) = NULL;
    TRY(rule_check_dtype(request, 0, STRING_SET));
    if (!attributes_has(request->attributes, "pattern"))
        FAIL(INVALID, "attribute pattern is missing");
    TRY(regex_create(attributes_text(request->attributes, "pattern"), &regex));
    rule_set(request, 0, DTYPE_BOOL, rule_shape(request, 0));
    return NULL;
}

/* ---- Tokenizer ---- */

static Error *check_separators(const Attributes *attributes, uint32_t count) {
    OWN(Regex, regex) = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *separator = attributes_string_at(attributes, "separators", i);
        if (!separator[0] && count == 1) {
            if (attributes_int(attributes, "mincharnum") > 1)
                FAIL(INVALID, "mincharnum above 1 for tokens of one character");
            return NULL;
        }
        if (!separator[0]) FAIL(INVALID, "an empty separator among others");
        TRY_WRAP(regex_create(separator, &regex), "separator %u", i);
        regex_release(TAKE(regex));
    }
    return NULL;
}

/* The tokens, filled up to as many as the text with most of them has. */
Error *shape_rule_tokenizer(PlanRequest *request) {
    enum { SEPARATORS_MAX = 64 };
    const Attributes *attributes = request->attributes;
    const uint32_t count = attributes_text_count(attributes, "separators");
    const bool expression = attributes_has(attributes, "tokenexp");
    OWN(Regex, regex) = NULL;
    Shape shape = *rule_shape(request, 0);
    TRY(rule_check_dtype(request, 0, STRING_SET));
    if (shape.rank != 1 && shape.rank != 2)
        FAIL(INVALID, "texts of rank %u, not [C] or [N, C]", shape.rank);
    if (attributes_int(attributes, "mincharnum") < 1)
        FAIL(INVALID, "mincharnum is %" PRId64 ", not 1 or more",
            attributes_int(attributes, "mincharnum"));
    if (expression == (count > 0)) FAIL(INVALID, "either separators or tokenexp must be given");
    if (count > SEPARATORS_MAX)
        FAIL(UNSUPPORTED, "%u separators; at most %d", count, SEPARATORS_MAX);
    if (expression) TRY(regex_create(attributes_text(attributes, "tokenexp"), &regex));
    TRY(check_separators(attributes, count));
    TRY(rule_push(&shape, -1));
    rule_set(request, 0, DTYPE_STRING, &shape);
    return NULL;
}

/* ---- TfIdfVectorizer ---- */

static Error *check_pool(const PlanRequest *request, uint32_t *out_size) {
    const Attributes *attributes = request->attributes;
    uint32_t ints, texts = attributes_text_count(attributes, "pool_strings");
    (void)attributes_ints(attributes, "pool_int64s", &ints);
    bool strings = rule_dtype(request, 0) == DTYPE_STRING;
    if ((ints > 0 && texts > 0) || (strings ? ints : texts) > 0)
        FAIL(INVALID, "a pool of %s for %s", ints ? "numbers" : "strings",
            dtype_name(rule_dtype(request, 0)));
    *out_size = strings ? texts : ints;
    return NULL;
}

/* Counts the n-grams of the pool; those of length n begin at ngram_counts[n - 1]. */
static Error *count_ngrams(const PlanRequest *request, uint32_t pool, int64_t *out_count) {
    uint32_t lengths;
    const int64_t *starts = attributes_ints(request->attributes, "ngram_counts", &lengths);
    *out_count = 0;
    for (uint32_t i = 0; i < lengths; i++) {
        int64_t end = i + 1 < lengths ? starts[i + 1] : (int64_t)pool;
        if (starts[i] < 0 || end < starts[i] || end > (int64_t)pool || (i == 0 && starts[0] != 0))
            FAIL(INVALID, "ngram_counts[%u] is %" PRId64 " in a pool of %u", i, starts[i], pool);
        if ((end - starts[i]) % (i + 1) != 0)
            FAIL(INVALID, "%" PRId64 " items of the pool are no %u-grams", end - starts[i], i + 1);
        *out_count += (end - starts[i]) / (i + 1);
    }
    if (lengths == 0 && pool > 0) FAIL(INVALID, "ngram_counts is empty");
    return NULL;
}

static Error *check_indexes(const PlanRequest *request, int64_t ngrams, int64_t *out_width) {
    uint32_t count, weights;
    const int64_t *indexes = attributes_ints(request->attributes, "ngram_indexes", &count);
    (void)attributes_floats(request->attributes, "weights", &weights);
    if (count != ngrams) FAIL(INVALID, "%u ngram_indexes for %" PRId64 " n-grams", count, ngrams);
    if (weights > 0 && weights != count)
        FAIL(INVALID, "%u weights for %" PRId64 " n-grams", weights, ngrams);
    *out_width = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (indexes[i] < 0 || indexes[i] > INT32_MAX)
            FAIL(INVALID, "ngram_indexes[%u] is %" PRId64, i, indexes[i]);
        if (indexes[i] >= *out_width) *out_width = indexes[i] + 1;
    }
    return NULL;
}

static Error *check_lengths(const Attributes *attributes) {
    const int64_t least = attributes_int(attributes, "min_gram_length");
    const int64_t most = attributes_int(attributes, "max_gram_length");
    const int64_t skip = attributes_int(attributes, "max_skip_count");
    const char *mode = attributes_text(attributes, "mode");
    uint32_t lengths;
    (void)attributes_ints(attributes, "ngram_counts", &lengths);
    if (least < 1 || most < least || most > lengths)
        FAIL(INVALID, "n-grams of %" PRId64 " to %" PRId64 " in a pool of %u lengths", least, most,
            lengths);
    if (skip < 0) FAIL(INVALID, "max_skip_count is %" PRId64, skip);
    if (strcmp(mode, "TF") != 0 && strcmp(mode, "IDF") != 0 && strcmp(mode, "TFIDF") != 0)
        FAIL(INVALID, "mode \"%.40s\"", mode);
    return NULL;
}

Error *shape_rule_tf_idf_vectorizer(PlanRequest *request) {
    uint32_t pool;
    int64_t ngrams, width;
    Shape shape = *rule_shape(request, 0);
    TRY(rule_check_dtype(request, 0, STRING_SET | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)));
    TRY(check_pool(request, &pool));
    TRY(count_ngrams(request, pool, &ngrams));
    TRY(check_indexes(request, ngrams, &width));
    TRY(check_lengths(request->attributes));
    if (shape.rank > 2) FAIL(INVALID, "an input of rank %u", shape.rank);
    if (shape.rank == 0) shape.rank = 1;
    shape.dims[shape.rank - 1] = width;
    rule_set(request, 0, DTYPE_FLOAT32, &shape);
    return NULL;
}
