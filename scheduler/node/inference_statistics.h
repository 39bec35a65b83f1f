#pragma once
/* Counts and times of inference requests, for each version of a model since the daemon began, and
 * over all of them for /metrics. Written by route_inference.c when a request has ended, read by
 * route_statistics.c and by /metrics. Threads: any, for every function.
 *
 * A tenant has INFERENCE_STATISTICS_MODELS_MAX versions at most; a further one replaces the version
 * whose last request is the oldest. */
#include <stdbool.h>

#include "base/digest.h"
#include "scheduler/node/metrics.h"
#include "store/database/store_types.h"
#include "store/models/model_reference.h"

typedef enum InferencePart {
#define INFERENCE_PART(name, text, of_run, help) INFERENCE_PART_##name,
#include "scheduler/node/inference_parts.def"
    INFERENCE_PART_COUNT
} InferencePart;

enum {
    INFERENCE_STATISTICS_MODELS_MAX = 256,
    INFERENCE_STATISTICS_BATCHES_MAX = 32, /* sizes of batches that are counted apart */
};

/* The name of a part in the protocol; whether it is counted for each run, too. */
const char *inference_part_name(InferencePart part);
bool inference_part_is_of_run(InferencePart part);

typedef struct InferenceDuration {
    uint64_t count, ns;
} InferenceDuration;

/* A version of a tenant's model. */
typedef struct InferenceSubject {
    TenantId tenant;
    char model[MODEL_NAME_SIZE];
    int64_t version;
    Digest identity; /* counting begins anew when the version's number stands for another
                      * executable */
} InferenceSubject;

/* A request that has ended. */
typedef struct InferenceSample {
    bool failed;         /* only FAIL is counted then */
    uint64_t items;      /* items that the request had; 1 where items are not counted */
    uint64_t batch_size; /* items of the run that it had a part in */
    bool leads;          /* of all requests of one run, one leads: it counts the run */
    uint64_t ns[INFERENCE_PART_COUNT];
} InferenceSample;

typedef struct InferenceBatchStatistics {
    uint64_t size; /* items of a run */
    InferenceDuration parts[INFERENCE_PART_COUNT];
} InferenceBatchStatistics;

typedef struct InferenceModelStatistics {
    InferenceSubject subject;
    double last;          /* seconds since 1970 of the newest request; 0: there was none */
    uint64_t items, runs; /* of requests that succeeded */
    InferenceDuration parts[INFERENCE_PART_COUNT];
    InferenceBatchStatistics batches[INFERENCE_STATISTICS_BATCHES_MAX]; /* in order of size */
    size_t batch_count;
} InferenceModelStatistics;

typedef struct InferenceStatistics InferenceStatistics;

MUST_CHECK Error *inference_statistics_create(InferenceStatistics **out_statistics);
void inference_statistics_release(InferenceStatistics *statistics);
DEFINE_OWN(InferenceStatistics, inference_statistics_release);

/* Counts a request. Without memory for a version's entry, the request is counted in the sums over
 * all versions alone. statistics: NULL: nothing is counted. */
void inference_statistics_add(InferenceStatistics *statistics, const InferenceSubject *subject,
    const InferenceSample *sample);
/* The statistics of a version; zeros if no request was counted. */
void inference_statistics_get(InferenceStatistics *statistics, const InferenceSubject *subject,
    InferenceModelStatistics *out);

typedef Error *InferenceStatisticsVisitor(void *context, const InferenceModelStatistics *model);
/* Visits the versions of a tenant's models that had requests, one after the other, under the mutex.
 */
MUST_CHECK Error *inference_statistics_visit(InferenceStatistics *statistics, TenantId tenant,
    InferenceStatisticsVisitor *visit, void *context);

/* The sums over all versions, for /metrics. */
MetricSource inference_statistics_source(InferenceStatistics *statistics);
