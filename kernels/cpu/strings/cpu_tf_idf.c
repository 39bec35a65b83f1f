/* TfIdfVectorizer: the pool's n-grams are in a hash table, in which each row's n-grams are looked
 * up. */
#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "kernels/cpu/strings/cpu_strings.h"

typedef enum Mode { MODE_TF, MODE_IDF, MODE_TFIDF } Mode;

/* An n-gram of the pool, with a hash of its items. Items are compared only if the hashes agree. */
typedef struct Ngram {
    uint64_t hash;
    uint32_t first; /* item of the pool */
    uint32_t length, column;
    float weight;
} Ngram;

typedef struct State {
    DType dtype;
    int64_t rows, row_size, width;
    int64_t least, most, skip;
    Mode mode;
    Attributes *attributes; /* retained: holds the pool */
    const int64_t *pool_ints;
    Ngram *ngrams;
    uint32_t *table; /* by hash: 1 + index in ngrams */
    size_t table_size;
} State;

typedef struct Run {
    const State *state;
    const void *from;
    float *to;
} Run;

static uint64_t mix(uint64_t hash, uint64_t item) {
    hash = (hash ^ item) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t pool_item_hash(const State *state, uint32_t item) {
    if (state->dtype != DTYPE_STRING) return (uint64_t)state->pool_ints[item];
    const char *text = attributes_string_at(state->attributes, "pool_strings", item);
    return digest_xxh3(text, strlen(text));
}

static int64_t input_int(const State *state, const void *from, int64_t at) {
    return state->dtype == DTYPE_INT64 ? ((const int64_t *)from)[at] : ((const int32_t *)from)[at];
}

static uint64_t input_hash(const State *state, const void *from, int64_t at) {
    if (state->dtype != DTYPE_STRING) return (uint64_t)input_int(state, from, at);
    StringView text = string_tensor_at(from, state->rows * state->row_size, at);
    return digest_xxh3(text.text, (size_t)text.size);
}

static bool item_is(const State *state, const void *from, int64_t at, uint32_t item) {
    if (state->dtype != DTYPE_STRING) return input_int(state, from, at) == state->pool_ints[item];
    StringView text = string_tensor_at(from, state->rows * state->row_size, at);
    const char *wanted = attributes_string_at(state->attributes, "pool_strings", item);
    return strlen(wanted) == text.size && memcmp(wanted, text.text, (size_t)text.size) == 0;
}

static bool ngram_is(const State *state, const Ngram *ngram, const void *from, int64_t start,
    int64_t step, uint32_t length) {
    if (ngram->length != length) return false;
    for (uint32_t i = 0; i < length; i++)
        if (!item_is(state, from, start + (int64_t)i * step, ngram->first + i)) return false;
    return true;
}

/* Counts the n-gram of `length` items from start on. The pool may have an n-gram several times. */
static void count_ngram(
    const Run *run, float *row, int64_t start, int64_t step, uint32_t length, uint64_t hash) {
    const State *state = run->state;
    for (size_t at = hash & (state->table_size - 1); state->table[at];
         at = (at + 1) & (state->table_size - 1)) {
        const Ngram *ngram = &state->ngrams[state->table[at] - 1];
        if (ngram->hash != hash || !ngram_is(state, ngram, run->from, start, step, length))
            continue;
        float *to = &row[ngram->column];
        if (state->mode == MODE_TF)
            *to += 1;
        else if (state->mode == MODE_IDF)
            *to = ngram->weight;
        else
            *to += ngram->weight;
    }
}

/* Counts n-grams of items that are `step` apart; single items count only for the first step. */
static void count_row(const Run *run, int64_t begin, float *row, int64_t step) {
    const State *state = run->state;
    const int64_t least = step > 1 && state->least == 1 ? 2 : state->least;
    KernelStopMeter meter = {0};
    for (int64_t start = 0; start < state->row_size; start++) {
        uint64_t hash = 0;
        for (int64_t n = 1; n <= state->most; n++) {
            if (kernel_stop_ends_after(&meter, 32)) return;
            int64_t last = start + (n - 1) * step;
            if (last >= state->row_size) break;
            hash = mix(hash, input_hash(state, run->from, begin + last));
            if (n >= least) count_ngram(run, row, begin + start, step, (uint32_t)n, hash);
        }
    }
}

static Error *count_rows(void *context, uint64_t first, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (uint64_t i = first; i < end; i++) {
        float *row = run->to + i * (uint64_t)state->width;
        memset(row, 0, (size_t)state->width * sizeof(float));
        for (int64_t skip = 0; skip <= state->skip && skip < state->row_size; skip++)
            count_row(run, (int64_t)i * state->row_size, row, skip + 1);
    }
    return NULL;
}

static Error *launch_tf_idf(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    if (state->width == 0) return NULL;
    return cpu_for_each(
        cpu_device(plan->device), launch->threads, (uint64_t)state->rows, 4, count_rows, &run);
}

static void table_add(State *state, uint32_t index) {
    size_t at = state->ngrams[index].hash & (state->table_size - 1);
    while (state->table[at]) at = (at + 1) & (state->table_size - 1);
    state->table[at] = index + 1;
}

static Error *fill_ngrams(State *state) {
    uint32_t lengths, count, weight_count, next = 0, pool;
    const Attributes *attributes = state->attributes;
    const int64_t *starts = attributes_ints(attributes, "ngram_counts", &lengths);
    const int64_t *indexes = attributes_ints(attributes, "ngram_indexes", &count);
    const double *weights = attributes_floats(attributes, "weights", &weight_count);
    state->pool_ints = attributes_ints(attributes, "pool_int64s", &pool);
    if (state->dtype == DTYPE_STRING) pool = attributes_text_count(attributes, "pool_strings");
    void *memory;
    TRY(memory_alloc(count, sizeof(Ngram), &memory));
    state->ngrams = memory;
    for (state->table_size = 8; state->table_size < 2 * (size_t)count;) state->table_size *= 2;
    TRY(memory_alloc(state->table_size, sizeof(uint32_t), &memory));
    state->table = memory;
    for (uint32_t n = 1; n <= lengths; n++) {
        uint32_t end = n < lengths ? (uint32_t)starts[n] : pool;
        for (uint32_t at = (uint32_t)starts[n - 1]; at < end; at += n, next++) {
            uint64_t hash = 0;
            for (uint32_t i = 0; i < n; i++) hash = mix(hash, pool_item_hash(state, at + i));
            float weight = weight_count ? (float)weights[next] : 1;
            state->ngrams[next] = (Ngram){hash, at, n, (uint32_t)indexes[next], weight};
            table_add(state, next);
        }
    }
    return NULL;
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    attributes_release(state->attributes);
    memory_free(state->ngrams);
    memory_free(state->table);
    plan_free(plan);
}

static Error *plan_tf_idf(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *shape = &request->inputs[0].shape;
    const char *mode = attributes_text(attributes, "mode");
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "cpu.tf_idf_vectorizer", sizeof(State), &plan));
    State *state = plan_state(plan);
    plan->destroy = destroy;
    state->dtype = request->inputs[0].dtype;
    state->rows = shape->rank == 2 ? shape->dims[0] : 1;
    state->row_size = shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
    const Shape *made = &request->outputs[0].shape;
    state->width = made->dims[made->rank - 1];
    state->least = attributes_int(attributes, "min_gram_length");
    state->most = attributes_int(attributes, "max_gram_length");
    state->skip = attributes_int(attributes, "max_skip_count");
    state->mode = strcmp(mode, "TF") == 0    ? MODE_TF
                  : strcmp(mode, "IDF") == 0 ? MODE_IDF
                                             : MODE_TFIDF;
    state->attributes = attributes_retain((Attributes *)(uintptr_t)attributes);
    TRY(fill_ngrams(state));
    plan->launch = launch_tf_idf;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_tf_idf[] = {
    {OPERATOR_TF_IDF_VECTORIZER, DTYPES_STRING | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64),
        plan_tf_idf, "cpu.tf_idf_vectorizer", KERNEL_PORTABLE},
    KERNELS_END,
};
