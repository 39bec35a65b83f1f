/* TfIdfVectorizer: each item of a row becomes its number in the pool; the row's n-grams are paths
 * of numbers in the pool's tree. */
#include <string.h>

#include "kernels/cpu/strings/cpu_ngrams.h"
#include "kernels/cpu/strings/cpu_strings.h"

typedef enum Mode { MODE_TF, MODE_IDF, MODE_TFIDF } Mode;

typedef struct State {
    DType dtype;
    int64_t rows, row_size, width;
    int64_t least, most, skip;
    Mode mode;
    const CpuNgrams *ngrams;
} State;

typedef struct Run {
    const State *state;
    const void *from;
    float *to;
    uint32_t *items; /* row_size for each thread */
} Run;

static uint32_t find_item(const State *state, const void *from, int64_t at) {
    if (state->dtype == DTYPE_STRING)
        return cpu_ngrams_find_text(
            state->ngrams, string_tensor_at(from, state->rows * state->row_size, at));
    return cpu_ngrams_find_number(state->ngrams,
        state->dtype == DTYPE_INT64 ? ((const int64_t *)from)[at] : ((const int32_t *)from)[at]);
}

static void count_ngram(const State *state, float *row, uint32_t node) {
    const Ngram *ngrams = state->ngrams->ngrams;
    for (uint32_t at = state->ngrams->nodes[node].first; at; at = ngrams[at].next) {
        float *to = &row[ngrams[at].column];
        if (state->mode == MODE_TF)
            *to += 1;
        else if (state->mode == MODE_IDF)
            *to = ngrams[at].weight;
        else
            *to += ngrams[at].weight;
    }
}

/* Counts n-grams of items that are `step` apart; single items count only for the first step. */
static void count_steps(
    const State *state, const uint32_t *items, float *row, int64_t step, KernelStopMeter *meter) {
    const int64_t least = step > 1 && state->least == 1 ? 2 : state->least;
    for (int64_t start = 0; start < state->row_size; start++) {
        if (kernel_stop_ends_after(meter, 8)) return;
        if (items[start] == NGRAM_NO_ITEM) continue;
        uint32_t node = state->ngrams->roots[items[start]];
        for (int64_t n = 1, last = start; node; n++) {
            if (kernel_stop_ends_after(meter, 32)) return;
            if (n >= least) count_ngram(state, row, node);
            last += step;
            if (n == state->most || last >= state->row_size) break;
            node = cpu_ngrams_step(state->ngrams, node, items[last]);
        }
    }
}

static void count_row(const State *state, const void *from, int64_t begin, uint32_t *items,
    float *row, KernelStopMeter *meter) {
    memset(row, 0, (size_t)state->width * sizeof(float));
    for (int64_t i = 0; i < state->row_size; i++) {
        if (kernel_stop_ends_after(meter, 16)) return;
        items[i] = find_item(state, from, begin + i);
    }
    for (int64_t skip = 0; skip <= state->skip && skip < state->row_size; skip++)
        count_steps(state, items, row, skip + 1, meter);
}

static Error *count_rows(void *context, uint64_t first, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    KernelStopMeter meter = {0};
    /* rows without items have no workspace */
    uint32_t *items = state->row_size ? run->items + part * (uint64_t)state->row_size : NULL;
    for (uint64_t i = first; i < end; i++)
        count_row(state, run->from, (int64_t)i * state->row_size, items,
            run->to + i * (uint64_t)state->width, &meter);
    return NULL;
}

static Error *launch_tf_idf(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0), cpu_workspace(launch)};
    (void)output_shapes;
    if (state->width == 0) return NULL;
    return cpu_for_each(
        cpu_device(plan->device), launch->threads, (uint64_t)state->rows, 4, count_rows, &run);
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    cpu_ngrams_release(cpu_device(plan->device), state->ngrams);
    plan_free(plan);
}

/* Items of a row for each thread that may get one. */
static uint64_t scratch_bytes(const CpuDevice *device, const State *state) {
    const uint64_t rows = (uint64_t)state->rows;
    const uint64_t parts = rows < device->threads_max ? rows : device->threads_max;
    return parts * (uint64_t)state->row_size * sizeof(uint32_t);
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
    TRY(cpu_ngrams_get(cpu_device(device), attributes,
        state->dtype == DTYPE_STRING ? DTYPE_STRING : DTYPE_INT64, &state->ngrams));
    plan->workspace_bytes = scratch_bytes(cpu_device(device), state);
    plan->launch = launch_tf_idf;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_tf_idf[] = {
    {OPERATOR_TF_IDF_VECTORIZER, DTYPES_STRING | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64),
        plan_tf_idf, "cpu.tf_idf_vectorizer", KERNEL_PORTABLE},
    KERNELS_END,
};
