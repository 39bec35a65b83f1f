#include "scheduler/node/inference_statistics.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"

typedef struct Entry {
    InferenceModelStatistics model;
    struct Entry *next;
} Entry;

struct InferenceStatistics {
    pthread_mutex_t mutex; /* guards all below */
    Entry *newest;         /* in the order of their last requests */
    InferenceDuration parts[INFERENCE_PART_COUNT];
    uint64_t runs;
};

static const struct {
    const char *name;
    bool of_run;
} infos[INFERENCE_PART_COUNT] = {
#define INFERENCE_PART(name, text, of_run, help) {text, of_run},
#include "scheduler/node/inference_parts.def"
};

const char *inference_part_name(InferencePart part) { return infos[part].name; }

bool inference_part_is_of_run(InferencePart part) { return infos[part].of_run; }

Error *inference_statistics_create(InferenceStatistics **out_statistics) {
    void *memory;
    TRY(memory_alloc(1, sizeof(InferenceStatistics), &memory));
    InferenceStatistics *statistics = memory;
    (void)pthread_mutex_init(&statistics->mutex, NULL);
    *out_statistics = statistics;
    return NULL;
}

void inference_statistics_release(InferenceStatistics *statistics) {
    if (!statistics) return;
    for (Entry *entry = statistics->newest, *next; entry; entry = next) {
        next = entry->next;
        memory_free(entry);
    }
    (void)pthread_mutex_destroy(&statistics->mutex);
    memory_free(statistics);
}

static bool is_same(const InferenceSubject *a, const InferenceSubject *b) {
    return a->tenant == b->tenant && a->version == b->version && strcmp(a->model, b->model) == 0;
}

/* The link to a version's entry. NULL: there is none; out_oldest is then the link to the entry that
 * makes room for another one, or NULL while the tenant has room. */
static Entry **find(
    InferenceStatistics *statistics, const InferenceSubject *subject, Entry ***out_oldest) {
    size_t count = 0;
    *out_oldest = NULL;
    for (Entry **at = &statistics->newest; *at; at = &(*at)->next) {
        if ((*at)->model.subject.tenant != subject->tenant) continue;
        if (is_same(&(*at)->model.subject, subject)) return at;
        if (++count >= INFERENCE_STATISTICS_MODELS_MAX) *out_oldest = at;
    }
    return NULL;
}

/* The version's entry, as the newest one; NULL without memory. */
static InferenceModelStatistics *take(
    InferenceStatistics *statistics, const InferenceSubject *subject) {
    Entry **oldest, **at = find(statistics, subject, &oldest), *entry;
    void *memory;
    const bool found = at != NULL;
    if (!found) at = oldest;
    if (at) {
        entry = *at;
        *at = entry->next;
    } else {
        Error *error = memory_alloc(1, sizeof *entry, &memory);
        if (error) {
            error_free(error); /* the header says what happens */
            return NULL;
        }
        entry = memory;
    }
    if (!found || !digest_equal(&entry->model.subject.identity, &subject->identity))
        *entry = (Entry){.model.subject = *subject};
    entry->next = statistics->newest;
    statistics->newest = entry;
    return &entry->model;
}

static void add_duration(InferenceDuration *duration, uint64_t ns) {
    duration->count++;
    duration->ns += ns;
}

static void add_parts(InferenceDuration *parts, const InferenceSample *sample) {
    for (InferencePart part = 0; part < INFERENCE_PART_COUNT; part++)
        if ((part == INFERENCE_PART_FAIL) == sample->failed)
            add_duration(&parts[part], sample->ns[part]);
}

/* The runs of a batch size; NULL: too many sizes are counted already. */
static InferenceBatchStatistics *find_batch(InferenceModelStatistics *model, uint64_t size) {
    InferenceBatchStatistics *batches = model->batches;
    size_t at = 0;
    while (at < model->batch_count && batches[at].size < size) at++;
    if (at < model->batch_count && batches[at].size == size) return &batches[at];
    if (model->batch_count == INFERENCE_STATISTICS_BATCHES_MAX) return NULL;
    memmove(&batches[at + 1], &batches[at], (model->batch_count++ - at) * sizeof *batches);
    batches[at] = (InferenceBatchStatistics){.size = size};
    return &batches[at];
}

static void add_run(InferenceModelStatistics *model, const InferenceSample *sample) {
    InferenceBatchStatistics *batch = find_batch(model, sample->batch_size);
    model->runs++;
    for (InferencePart part = 0; batch && part < INFERENCE_PART_COUNT; part++)
        if (infos[part].of_run) add_duration(&batch->parts[part], sample->ns[part]);
}

static void add_model(InferenceModelStatistics *model, const InferenceSample *sample) {
    add_parts(model->parts, sample);
    model->last = clock_real().calendar_s(clock_real().self);
    if (sample->failed) return;
    model->items += sample->items;
    if (sample->leads) add_run(model, sample);
}

void inference_statistics_add(InferenceStatistics *statistics, const InferenceSubject *subject,
    const InferenceSample *sample) {
    if (!statistics) return;
    (void)pthread_mutex_lock(&statistics->mutex);
    add_parts(statistics->parts, sample);
    statistics->runs += !sample->failed && sample->leads;
    InferenceModelStatistics *model = take(statistics, subject);
    if (model) add_model(model, sample);
    (void)pthread_mutex_unlock(&statistics->mutex);
}

void inference_statistics_get(InferenceStatistics *statistics, const InferenceSubject *subject,
    InferenceModelStatistics *out) {
    Entry **oldest;
    *out = (InferenceModelStatistics){.subject = *subject};
    if (!statistics) return;
    (void)pthread_mutex_lock(&statistics->mutex);
    Entry **at = find(statistics, subject, &oldest);
    if (at && digest_equal(&(*at)->model.subject.identity, &subject->identity)) *out = (*at)->model;
    (void)pthread_mutex_unlock(&statistics->mutex);
}

Error *inference_statistics_visit(InferenceStatistics *statistics, TenantId tenant,
    InferenceStatisticsVisitor *visit, void *context) {
    Error *error = NULL;
    if (!statistics) return NULL;
    (void)pthread_mutex_lock(&statistics->mutex);
    for (const Entry *entry = statistics->newest; entry && !error; entry = entry->next)
        if (entry->model.subject.tenant == tenant) error = visit(context, &entry->model);
    (void)pthread_mutex_unlock(&statistics->mutex);
    return error;
}

static Error *collect(void *self, MetricId metric, MetricSamples *samples) {
    InferenceStatistics *statistics = self;
    const bool is_count = metric == METRIC_INFERENCES, is_runs = metric == METRIC_INFERENCE_RUNS;
    if (!is_count && !is_runs && metric != METRIC_INFERENCE_SECONDS) return NULL;
    (void)pthread_mutex_lock(&statistics->mutex);
    if (is_runs) metrics_sample(samples, NULL, (double)statistics->runs);
    for (InferencePart part = 0; !is_runs && part < INFERENCE_PART_COUNT; part++) {
        const InferenceDuration *sum = &statistics->parts[part];
        metrics_sample(
            samples, &infos[part].name, is_count ? (double)sum->count : (double)sum->ns * 1e-9);
    }
    (void)pthread_mutex_unlock(&statistics->mutex);
    return NULL;
}

MetricSource inference_statistics_source(InferenceStatistics *statistics) {
    return (MetricSource){.collect = collect, .self = statistics};
}
