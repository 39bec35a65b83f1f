#include "scheduler/node/metrics.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"

/* Upper bounds of a histogram's buckets: from a switch between executions to a long checkpoint. */
static const uint64_t bounds_ns[] = {5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000,
    2000000, 5000000, 10000000, 20000000, 50000000, 100000000, 200000000, 500000000, 1000000000,
    2000000000, 5000000000, 10000000000, 60000000000};
enum { BUCKETS = sizeof bounds_ns / sizeof *bounds_ns };

typedef struct Histogram {
    _Atomic uint64_t buckets[BUCKETS + 1]; /* the last: beyond all bounds */
    _Atomic uint64_t sum_ns;
} Histogram;

/* A histogram of one value of a label. It stays where it is until the end. */
typedef struct Series {
    char value[METRIC_VALUE_SIZE];
    Histogram histogram;
} Series;

typedef struct Family {
    const char *const *rows; /* NULL: one without labels */
    size_t row_count;
    _Atomic int64_t *values; /* COUNTER, GAUGE */
    Histogram *histogram;    /* SECONDS; with a label: of METRIC_OTHERS */
    /* SECONDS with a label: the first series_count are there. Added under the mutex, read by all.
     */
    Series *series[METRIC_SERIES_MAX];
    _Atomic size_t series_count;
} Family;

struct Metrics {
    pthread_mutex_t mutex; /* adds series */
    Family families[METRIC_COUNT];
    MetricSource sources[METRICS_SOURCES_MAX];
    size_t source_count;
};

static const MetricInfo infos[METRIC_COUNT] = {
#define METRIC(name, text, kind, labels, help) {text, METRIC_KIND_##kind, labels, help},
#include "scheduler/node/metrics.def"
#undef METRIC
};

const MetricInfo *metric_info(MetricId metric) { return &infos[metric]; }

static bool is_kept(MetricId metric) {
    return infos[metric].kind == METRIC_KIND_COUNTER || infos[metric].kind == METRIC_KIND_GAUGE;
}

Error *metrics_create(Metrics **out) {
    OWN(Metrics, metrics) = NULL;
    void *memory;
    TRY(memory_alloc(1, sizeof *metrics, &memory));
    metrics = memory;
    (void)pthread_mutex_init(&metrics->mutex, NULL);
    for (MetricId metric = 0; metric < METRIC_COUNT; metric++) {
        Family *family = &metrics->families[metric];
        if (is_kept(metric)) TRY(metrics_set_rows(metrics, metric, NULL, 1));
        if (infos[metric].kind != METRIC_KIND_SECONDS) continue;
        TRY(memory_alloc(1, sizeof(Histogram), &memory));
        family->histogram = memory;
    }
    *out = TAKE(metrics);
    return NULL;
}

void metrics_release(Metrics *metrics) {
    if (!metrics) return;
    for (MetricId metric = 0; metric < METRIC_COUNT; metric++) {
        memory_free(metrics->families[metric].values);
        memory_free(metrics->families[metric].histogram);
        for (size_t i = 0; i < metrics->families[metric].series_count; i++)
            memory_free(metrics->families[metric].series[i]);
    }
    (void)pthread_mutex_destroy(&metrics->mutex);
    memory_free(metrics);
}

Error *metrics_set_rows(Metrics *metrics, MetricId metric, const char *const *texts, size_t count) {
    Family *family = &metrics->families[metric];
    void *memory;
    assert(is_kept(metric));
    TRY(memory_alloc(count, sizeof *family->values, &memory));
    memory_free(family->values);
    family->values = memory;
    family->rows = texts;
    family->row_count = count;
    return NULL;
}

void metrics_add(Metrics *metrics, MetricId metric, size_t row, int64_t value) {
    Family *family = &metrics->families[metric];
    assert(is_kept(metric) && row < family->row_count);
    (void)atomic_fetch_add_explicit(&family->values[row], value, memory_order_relaxed);
}

void metrics_set(Metrics *metrics, MetricId metric, int64_t value) {
    assert(infos[metric].kind == METRIC_KIND_GAUGE);
    atomic_store_explicit(&metrics->families[metric].values[0], value, memory_order_relaxed);
}

static void observe(Histogram *histogram, uint64_t duration_ns) {
    size_t bucket = 0;
    while (bucket < BUCKETS && duration_ns > bounds_ns[bucket]) bucket++;
    (void)atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&histogram->sum_ns, duration_ns, memory_order_relaxed);
}

void metrics_observe_ns(Metrics *metrics, MetricId metric, uint64_t duration_ns) {
    assert(metrics->families[metric].histogram && !infos[metric].labels[0]);
    observe(metrics->families[metric].histogram, duration_ns);
}

static Histogram *find_series(Family *family, const char *value) {
    const size_t count = atomic_load_explicit(&family->series_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (strcmp(family->series[i]->value, value) == 0) return &family->series[i]->histogram;
    return count == METRIC_SERIES_MAX ? family->histogram : NULL;
}

/* Under the mutex. */
static Histogram *add_series(Family *family, const char *value) {
    Histogram *found = find_series(family, value); /* another thread was faster */
    void *memory;
    if (found) return found;
    Error *error = memory_alloc(1, sizeof(Series), &memory);
    if (error) {
        error_free(error); /* counted with the others */
        return family->histogram;
    }
    Series *series = memory;
    const size_t count = atomic_load_explicit(&family->series_count, memory_order_relaxed);
    (void)snprintf(series->value, sizeof series->value, "%s", value);
    family->series[count] = series;
    atomic_store_explicit(&family->series_count, count + 1, memory_order_release);
    return &series->histogram;
}

void metrics_observe_of(
    Metrics *metrics, MetricId metric, const char *value, uint64_t duration_ns) {
    Family *family = &metrics->families[metric];
    char kept[METRIC_VALUE_SIZE];
    assert(family->histogram && infos[metric].labels[0]);
    (void)snprintf(kept, sizeof kept, "%s", value);
    Histogram *histogram = find_series(family, kept);
    if (!histogram) {
        (void)pthread_mutex_lock(&metrics->mutex);
        histogram = add_series(family, kept);
        (void)pthread_mutex_unlock(&metrics->mutex);
    }
    observe(histogram, duration_ns);
}

Error *metrics_add_source(Metrics *metrics, MetricSource source) {
    if (metrics->source_count == METRICS_SOURCES_MAX)
        FAIL(INTERNAL, "more than %d sources of metrics", METRICS_SOURCES_MAX);
    metrics->sources[metrics->source_count++] = source;
    return NULL;
}

struct MetricSamples {
    const MetricInfo *info;
    TextBuilder *out;
};

/* A label's value, with quotes, backslashes and line ends escaped. */
static void print_value(TextBuilder *out, const char *value) {
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            text_appendf(out, "\\%c", *value);
        else if (*value == '\n')
            text_append(out, "\\n");
        else
            text_append_bytes(out, value, 1);
    }
}

void metrics_sample(MetricSamples *samples, const char *const *labels, double value) {
    const char *name = samples->info->labels;
    text_append(samples->out, samples->info->name);
    for (size_t i = 0; *name; i++) {
        size_t length = strcspn(name, " ");
        text_appendf(samples->out, "%s%.*s=\"", i ? "," : "{", (int)length, name);
        print_value(samples->out, labels[i]);
        text_append(samples->out, "\"");
        name += length + (name[length] == ' ');
        if (!*name) text_append(samples->out, "}");
    }
    text_appendf(samples->out, " %.17g\n", value);
}

/* Prints the label of a histogram, and the bucket's bound where there is one. */
static void print_labels(TextBuilder *out, const char *name, const char *value, const char *bound) {
    if (!value && !bound) return;
    text_append(out, "{");
    if (value) {
        text_appendf(out, "%s=\"", name);
        print_value(out, value);
        text_append(out, "\"");
    }
    if (bound) text_appendf(out, "%sle=\"%s\"", value ? "," : "", bound);
    text_append(out, "}");
}

/* value: of the family's label; NULL: it has none. */
static void print_histogram(
    const MetricInfo *info, const char *value, Histogram *histogram, TextBuilder *out) {
    uint64_t count = 0;
    for (size_t i = 0; i <= BUCKETS; i++) {
        char bound[32] = "+Inf";
        count += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
        if (i < BUCKETS) (void)snprintf(bound, sizeof bound, "%.10g", (double)bounds_ns[i] * 1e-9);
        text_appendf(out, "%s_bucket", info->name);
        print_labels(out, info->labels, value, bound);
        text_appendf(out, " %llu\n", (unsigned long long)count);
    }
    const uint64_t sum_ns = atomic_load_explicit(&histogram->sum_ns, memory_order_relaxed);
    text_appendf(out, "%s_sum", info->name);
    print_labels(out, info->labels, value, NULL);
    text_appendf(out, " %.17g\n%s_count", (double)sum_ns * 1e-9, info->name);
    print_labels(out, info->labels, value, NULL);
    text_appendf(out, " %llu\n", (unsigned long long)count);
}

/* METRIC_OTHERS is printed where every series has a value of its own. */
static void print_histograms(const MetricInfo *info, const Family *family, TextBuilder *out) {
    const size_t count = atomic_load_explicit(&family->series_count, memory_order_acquire);
    if (!info->labels[0]) print_histogram(info, NULL, family->histogram, out);
    for (size_t i = 0; i < count; i++)
        print_histogram(info, family->series[i]->value, &family->series[i]->histogram, out);
    if (count == METRIC_SERIES_MAX) print_histogram(info, METRIC_OTHERS, family->histogram, out);
}

/* Of many rows those that never counted are left out. Few rows are always shown, since a rate over
 * a missing row misses its first count. */
enum { ROWS_SHOWN_MAX = 16 };
static void print_rows(const MetricInfo *info, const Family *family, TextBuilder *out) {
    bool all = family->row_count <= ROWS_SHOWN_MAX;
    for (size_t i = 0; i < family->row_count; i++) {
        int64_t value = atomic_load_explicit(&family->values[i], memory_order_relaxed);
        if (family->rows && (value || all))
            text_appendf(out, "%s{%s} %lld\n", info->name, family->rows[i], (long long)value);
        else if (!family->rows)
            text_appendf(out, "%s %lld\n", info->name, (long long)value);
    }
}

static const char *type_of(MetricKind kind) {
    static const char *const types[] = {"counter", "gauge", "counter", "gauge", "histogram"};
    return types[kind];
}

Error *metrics_print(Metrics *metrics, TextBuilder *out) {
    for (MetricId metric = 0; metric < METRIC_COUNT; metric++) {
        const MetricInfo *info = &infos[metric];
        const Family *family = &metrics->families[metric];
        MetricSamples samples = {.info = info, .out = out};
        text_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", info->name, info->help, info->name,
            type_of(info->kind));
        if (family->histogram)
            print_histograms(info, family, out);
        else if (family->values)
            print_rows(info, family, out);
        else
            for (size_t i = 0; i < metrics->source_count; i++)
                TRY(metrics->sources[i].collect(metrics->sources[i].self, metric, &samples));
    }
    return text_builder_check(out);
}
