#include "scheduler/node/metrics.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
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

typedef struct Family {
    const char *const *rows; /* NULL: one without labels */
    size_t row_count;
    _Atomic int64_t *values; /* COUNTER, GAUGE */
    Histogram *histogram;    /* SECONDS */
} Family;

struct Metrics {
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
    }
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

void metrics_observe_ns(Metrics *metrics, MetricId metric, uint64_t duration_ns) {
    Histogram *histogram = metrics->families[metric].histogram;
    size_t bucket = 0;
    assert(histogram);
    while (bucket < BUCKETS && duration_ns > bounds_ns[bucket]) bucket++;
    (void)atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&histogram->sum_ns, duration_ns, memory_order_relaxed);
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

static void print_histogram(const char *name, Histogram *histogram, TextBuilder *out) {
    uint64_t count = 0;
    for (size_t i = 0; i <= BUCKETS; i++) {
        count += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
        if (i < BUCKETS)
            text_appendf(out, "%s_bucket{le=\"%.10g\"} %llu\n", name, (double)bounds_ns[i] * 1e-9,
                (unsigned long long)count);
        else
            text_appendf(out, "%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)count);
    }
    uint64_t sum_ns = atomic_load_explicit(&histogram->sum_ns, memory_order_relaxed);
    text_appendf(out, "%s_sum %.17g\n%s_count %llu\n", name, (double)sum_ns * 1e-9, name,
        (unsigned long long)count);
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
            print_histogram(info->name, family->histogram, out);
        else if (family->values)
            print_rows(info, family, out);
        else
            for (size_t i = 0; i < metrics->source_count; i++)
                TRY(metrics->sources[i].collect(metrics->sources[i].self, metric, &samples));
    }
    return text_builder_check(out);
}
