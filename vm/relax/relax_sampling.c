#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "kernels/scalar/scalar_exponential.h"
#include "vm/execution/execution_state.h"
#include "vm/relax/relax_registry.h"

/* A probability or logit with its index. */
typedef struct Candidate {
    float value;
    int32_t index;
} Candidate;

/* From the largest value to the smallest; equal ones by index, so that the order is the same
 * everywhere; NaN last. */
static int compare_candidates(const void *left, const void *right) {
    const Candidate *a = left, *b = right;
    if (isnan(a->value) || isnan(b->value)) {
        if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? 1 : -1;
    } else if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Checks float32 [1, ..., n], n > 0. */
static Error *check_row(const char *name, const Tensor *tensor, int64_t *out_count) {
    TRY(relax_expect_dtype(name, tensor, DTYPE_FLOAT32));
    int64_t count = shape_count_unchecked(&tensor->shape);
    if (tensor->shape.rank == 0 || count == 0 ||
        tensor->shape.dims[tensor->shape.rank - 1] != count)
        FAIL(INVALID, "%s are not one row: all dimensions but the last are 1", name);
    if (count > INT32_MAX) FAIL(INVALID, "%s are %" PRIi64 " numbers", name, count);
    *out_count = count;
    return NULL;
}

/* Candidates with at least a value, sorted. */
static uint32_t gather(const float *values, int64_t count, float least, Candidate *candidates) {
    uint32_t found = 0;
    for (int64_t i = 0; i < count; i++)
        if (values[i] >= least) candidates[found++] = (Candidate){values[i], (int32_t)i};
    qsort(candidates, found, sizeof *candidates, compare_candidates);
    return found;
}

/* Values become cumulative probabilities, in the order of the candidates. */
static int32_t pick_of_logits(
    Candidate *candidates, uint32_t count, double temperature, double top_p, double number) {
    float sum = 0, scale = (float)(1.0 / temperature), largest = candidates[0].value;
    for (uint32_t i = 0; i < count; i++) {
        candidates[i].value = scalar_exp_f32((candidates[i].value - largest) * scale);
        sum += candidates[i].value;
    }
    float reached = 0, kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        float probability = candidates[i].value / sum;
        if (reached < top_p) kept += probability;
        reached += probability;
        candidates[i].value = reached;
    }
    for (uint32_t i = 0; i < count; i++)
        if (number < candidates[i].value / kept) return candidates[i].index;
    return candidates[0].index;
}

RELAX(sample_top_p_from_logits) {
    RELAX_UNUSED();
    int64_t count_all;
    const void *logits;
    OWN_MEMORY(copy) = NULL;
    OWN_MEMORY(memory) = NULL;
    TRY(check_row("the logits", arguments[0].tensor, &count_all));
    TRY(relax_host_bytes(call, "the logits", arguments[0].tensor, &logits, &copy));
    TRY(memory_alloc((size_t)count_all, sizeof(Candidate), &memory));
    Candidate *candidates = memory;
    const float *values = logits;
    for (int64_t i = 0; i < count_all; i++) candidates[i] = (Candidate){values[i], (int32_t)i};
    qsort(candidates, (size_t)count_all, sizeof *candidates, compare_candidates);
    if (isnan(candidates[0].value)) FAIL(INVALID, "all logits are NaN");
    double temperature = relax_number(&arguments[1]), number = relax_number(&arguments[3]);
    int32_t picked = candidates[0].index;
    if (!(temperature < 1e-6f))
        picked = pick_of_logits(
            candidates, (uint32_t)count_all, temperature, relax_number(&arguments[2]), number);
    *out_result = value_int(picked);
    return NULL;
}

/* Picks among the probabilities that are at least `least`; -1 if they do not reach top_p. */
static int32_t pick_of_probabilities(const float *values, int64_t count, float least, double top_p,
    double number, Candidate *candidates) {
    uint32_t found = gather(values, count, least, candidates);
    if (found == 0) return -1;
    if (number < candidates[0].value / top_p) return candidates[0].index;
    float reached = 0, kept = 0;
    for (uint32_t i = 0; i < found && reached < top_p; i++) {
        kept += candidates[i].value;
        reached += candidates[i].value;
        candidates[i].value = reached;
    }
    if (reached < top_p && least != 0) return -1;
    for (uint32_t i = 0; i < found; i++)
        if (number < candidates[i].value / kept) return candidates[i].index;
    return candidates[found - 1].index;
}

/* Most probabilities are too small to be picked and need not be sorted: with top_p below 1 first
 * only those of at least top_p / 1024 are. */
RELAX(sample_top_p_from_prob) {
    RELAX_UNUSED();
    int64_t count_all;
    const void *values;
    OWN_MEMORY(copy) = NULL;
    OWN_MEMORY(memory) = NULL;
    TRY(check_row("the probabilities", arguments[0].tensor, &count_all));
    TRY(relax_host_bytes(call, "the probabilities", arguments[0].tensor, &values, &copy));
    TRY(memory_alloc((size_t)count_all, sizeof(Candidate), &memory));
    double top_p = relax_number(&arguments[1]), number = relax_number(&arguments[2]);
    int32_t picked = -1;
    if (top_p < 1)
        picked =
            pick_of_probabilities(values, count_all, (float)(top_p / 1024), top_p, number, memory);
    if (picked < 0) picked = pick_of_probabilities(values, count_all, 0, top_p, number, memory);
    if (picked < 0) FAIL(INVALID, "no probability is 0 or more");
    *out_result = value_int(picked);
    return NULL;
}

static void pick_rows(
    const float *probabilities, const float *numbers, const Shape *rows, int64_t *picked) {
    for (int64_t row = 0; row < rows->dims[0]; row++) {
        float reached = 0;
        picked[row] = 0;
        for (int64_t i = 0; i < rows->dims[1]; i++) {
            picked[row] = i;
            reached += probabilities[row * rows->dims[1] + i];
            if (reached > numbers[row]) break;
        }
    }
}

RELAX(multinomial_from_uniform) {
    RELAX_UNUSED();
    Tensor *probabilities = arguments[0].tensor, *numbers = arguments[1].tensor;
    TRY(relax_expect_dtype("the probabilities", probabilities, DTYPE_FLOAT32));
    TRY(relax_expect_dtype("the numbers", numbers, DTYPE_FLOAT32));
    const Shape *shape = &probabilities->shape;
    if (shape->rank < 2) FAIL(INVALID, "the probabilities have %u dimensions", shape->rank);
    Shape rows = shape_make(2, (int64_t[]){shape->dims[0], shape->dims[shape->rank - 1]});
    if (shape_count_unchecked(&rows) != shape_count_unchecked(shape) || rows.dims[1] == 0)
        FAIL(INVALID, "the probabilities are not [b, n] with n above 0");
    if (shape_count_unchecked(&numbers->shape) < rows.dims[0])
        FAIL(INVALID, "%" PRIi64 " numbers for %" PRIi64 " rows",
            shape_count_unchecked(&numbers->shape), rows.dims[0]);
    const void *from, *at;
    OWN_MEMORY(copy) = NULL;
    OWN_MEMORY(copy_numbers) = NULL;
    TRY(relax_host_bytes(call, "the probabilities", probabilities, &from, &copy));
    TRY(relax_host_bytes(call, "the numbers", numbers, &at, &copy_numbers));
    Shape result_shape = shape_make(2, (int64_t[]){rows.dims[0], 1});
    OWN_MEMORY(picked) = NULL;
    TRY(memory_alloc((size_t)rows.dims[0], sizeof(int64_t), &picked));
    pick_rows(from, at, &rows, picked);
    Tensor *result;
    TRY(relax_new_tensor(call, numbers->storage->slot, DTYPE_INT64, &result_shape, &result));
    if (!result) return NULL;
    *out_result = value_object(OBJECT_TENSOR, result);
    return rows.dims[0] > 0 ? tensor_copy_from_host(result, picked) : NULL;
}

typedef struct Tokens {
    const int32_t *tokens;
    int64_t count;
    void *owned;
} Tokens;

static void tokens_close(Tokens *tokens) { memory_free(tokens->owned); }
#define OWN_TOKENS(name) __attribute__((cleanup(tokens_close))) Tokens name

/* The last dimension's first row of an int32 tensor. */
static Error *open_tokens(
    const PackedCall *call, const char *name, const Tensor *tensor, Tokens *out) {
    TRY(relax_expect_dtype(name, tensor, DTYPE_INT32));
    if (tensor->shape.rank == 0) FAIL(INVALID, "%s have no dimension", name);
    out->count =
        shape_count_unchecked(&tensor->shape) == 0 ? 0 : tensor->shape.dims[tensor->shape.rank - 1];
    const void *bytes;
    TRY(relax_host_bytes(call, name, tensor, &bytes, &out->owned));
    out->tokens = bytes;
    return NULL;
}

static Error *check_tokens(const Tokens *tokens, const Tensor *logits) {
    int64_t limit = shape_count_unchecked(&logits->shape);
    for (int64_t i = 0; i < tokens->count; i++)
        if (tokens->tokens[i] < 0 || tokens->tokens[i] >= limit)
            FAIL(INVALID, "token %" PRIi64 " is %d, and there are %" PRIi64 " logits", i,
                tokens->tokens[i], limit);
    return NULL;
}

RELAX(apply_repetition_penalty) {
    RELAX_UNUSED();
    OWN_TOKENS(tokens) = {0};
    OWN_TENSOR_BYTES(logits) = {0};
    TRY(relax_expect_dtype("the logits", arguments[0].tensor, DTYPE_FLOAT32));
    TRY(open_tokens(call, "the tokens", arguments[1].tensor, &tokens));
    TRY(check_tokens(&tokens, arguments[0].tensor));
    TRY(relax_open_written(call, "the logits", arguments[0].tensor, true, &logits));
    double penalty = relax_number(&arguments[2]);
    float *values = logits.bytes;
    for (int64_t i = 0; i < tokens.count; i++) {
        float *value = &values[tokens.tokens[i]];
        *value = (float)(*value <= 0 ? *value * penalty : *value / penalty);
    }
    return relax_store(call, &logits);
}

RELAX(apply_presence_and_frequency_penalty) {
    RELAX_UNUSED();
    OWN_TOKENS(tokens) = {0};
    OWN_TOKENS(counts) = {0};
    OWN_TENSOR_BYTES(logits) = {0};
    TRY(relax_expect_dtype("the logits", arguments[0].tensor, DTYPE_FLOAT32));
    TRY(open_tokens(call, "the tokens", arguments[1].tensor, &tokens));
    TRY(open_tokens(call, "the counts", arguments[2].tensor, &counts));
    if (counts.count < tokens.count)
        FAIL(INVALID, "%" PRIi64 " counts for %" PRIi64 " tokens", counts.count, tokens.count);
    TRY(check_tokens(&tokens, arguments[0].tensor));
    TRY(relax_open_written(call, "the logits", arguments[0].tensor, true, &logits));
    double presence = relax_number(&arguments[3]), frequency = relax_number(&arguments[4]);
    float *values = logits.bytes;
    for (int64_t i = 0; i < tokens.count; i++) {
        float *value = &values[tokens.tokens[i]];
        *value = (float)(*value - (counts.tokens[i] * frequency + presence));
    }
    return relax_store(call, &logits);
}

static void softmax(float *row, int64_t count, float scale) {
    float largest = row[0] * scale;
    for (int64_t i = 1; i < count; i++)
        if (row[i] * scale > largest) largest = row[i] * scale;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += scalar_exp_f32(row[i] * scale - largest);
    for (int64_t i = 0; i < count; i++)
        row[i] = (float)(scalar_exp_f32(row[i] * scale - largest) / sum);
}

RELAX(apply_softmax_with_temperature) {
    RELAX_UNUSED();
    Tensor *tensor = arguments[0].tensor;
    OWN_TENSOR_BYTES(logits) = {0};
    TRY(relax_expect_dtype("the logits", tensor, DTYPE_FLOAT32));
    if (tensor->shape.rank == 0) FAIL(INVALID, "the logits have no dimension");
    double temperature = relax_number(&arguments[1]);
    if (!(temperature > 0)) FAIL(INVALID, "the temperature is %g", temperature);
    TRY(relax_open_written(call, "the logits", tensor, true, &logits));
    if (shape_count_unchecked(&tensor->shape) > 0)
        softmax(
            logits.bytes, tensor->shape.dims[tensor->shape.rank - 1], (float)(1.0 / temperature));
    return relax_store(call, &logits);
}
