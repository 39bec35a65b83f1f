#pragma once
/* Metrics (metrics.def): counted without locks, printed in Prometheus' text format. Counted by the
 * control thread, the HTTP server and housekeeping; printed by the route /metrics.
 *
 * Threads: any, for every function; metrics_add_source before the first read. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

typedef enum MetricId {
#define METRIC(name, text, kind, labels, help) METRIC_##name,
#include "scheduler/node/metrics.def"
#undef METRIC
    METRIC_COUNT
} MetricId;

typedef enum MetricKind {
    METRIC_KIND_COUNTER,
    METRIC_KIND_GAUGE,
    METRIC_KIND_SAMPLED_COUNTER,
    METRIC_KIND_SAMPLED_GAUGE,
    METRIC_KIND_SECONDS,
} MetricKind;

typedef struct MetricInfo {
    const char *name;
    MetricKind kind;
    const char *labels; /* names, with blanks between */
    const char *help;
} MetricInfo;

enum {
    METRIC_LABELS_MAX = 2,
    METRICS_SOURCES_MAX = 8,
    METRIC_SERIES_MAX = 64,  /* values of a histogram's label that are counted apart */
    METRIC_VALUE_SIZE = 128, /* of such a value, with the terminating NUL; a longer one is cut */
};
#define METRIC_OTHERS "_others"

const MetricInfo *metric_info(MetricId metric);

typedef struct Metrics Metrics;

MUST_CHECK Error *metrics_create(Metrics **out);
void metrics_release(Metrics *metrics);
DEFINE_OWN(Metrics, metrics_release);

/* Declares the rows of a COUNTER or GAUGE with labels: rows[i] is the text of its labels, as in
 * route="JOB_GET",status="2xx". texts: constants. A metric without declared rows has one row
 * without labels. */
MUST_CHECK Error *metrics_set_rows(
    Metrics *metrics, MetricId metric, const char *const *texts, size_t count);

/* For COUNTER and GAUGE. row: 0 without labels. */
void metrics_add(Metrics *metrics, MetricId metric, size_t row, int64_t value);
static inline void metrics_increment(Metrics *metrics, MetricId metric) {
    metrics_add(metrics, metric, 0, 1);
}
void metrics_set(Metrics *metrics, MetricId metric, int64_t value);
/* For SECONDS with a label: value is the label's. A value beyond METRIC_SERIES_MAX, or one that
 * there is no memory for, is counted as METRIC_OTHERS. */
void metrics_observe_of(Metrics *metrics, MetricId metric, const char *value, uint64_t duration_ns);
/* For SECONDS without a label. */
void metrics_observe_ns(Metrics *metrics, MetricId metric, uint64_t duration_ns);

/* Receives a source's samples of the metric that is asked for. labels: their values, as many as the
 * metric has names. */
typedef struct MetricSamples MetricSamples;
void metrics_sample(MetricSamples *samples, const char *const *labels, double value);

/* The source of SAMPLED metrics: called for each of them at every read, in the reader's thread. */
typedef struct MetricSource {
    Error *(*collect)(void *self, MetricId metric, MetricSamples *samples);
    void *self;
} MetricSource;
MUST_CHECK Error *metrics_add_source(Metrics *metrics, MetricSource source);

MUST_CHECK Error *metrics_print(Metrics *metrics, TextBuilder *out);
