#include "scheduler/daemon/daemon_metrics.h"

#include <stdbool.h>

#include "store/database/store_files.h"
#include "store/accounts/tenants.h"

static void sample(MetricSamples *samples, const char *label, double value) {
    metrics_sample(samples, &label, value);
}

/* A "running" job is queued in the store. A job that began or ended between the two queries must
 * not make a negative number. */
static Error *sample_jobs(DaemonMetrics *metrics, MetricSamples *samples) {
    size_t counts[JOB_STATE_COUNT], running = control_running_count(metrics->control);
    TRY(jobs_count(metrics->store, counts));
    if (running > counts[JOB_STATE_QUEUED]) running = counts[JOB_STATE_QUEUED];
    counts[JOB_STATE_QUEUED] -= running;
    sample(samples, "running", (double)running);
    for (int i = JOB_STATE_NONE + 1; i < JOB_STATE_COUNT; i++)
        if (job_state_exists(i))
            sample(samples, job_state_info((JobState)i)->name, (double)counts[i]);
    return NULL;
}

static double of_tenant(DaemonMetrics *metrics, MetricId metric, const Tenant *tenant) {
    ControlTenantStatus status;
    if (metric == METRIC_STORE_BYTES) return (double)tenant->bytes_stored;
    control_get_tenant(metrics->control, tenant->id, &status);
    return metric == METRIC_QUEUE_DEPTH ? (double)status.waiting : status.device_seconds;
}

/* Ids are given in order and never reused, so a tenant's row stays the tenant's. */
static Error *sample_tenants(DaemonMetrics *metrics, MetricId metric, MetricSamples *samples) {
    OWN(TenantList, list) = NULL;
    double others = 0;
    bool any = false;
    TRY(tenants_list(metrics->store, &list));
    for (size_t i = 0; i < list->count; i++) {
        const Tenant *tenant = &list->items[i];
        double value = of_tenant(metrics, metric, tenant);
        bool own = tenant->id <= DAEMON_METRICS_TENANTS_MAX;
        if (own) sample(samples, tenant->name, value);
        if (!own) others += value;
        any |= !own;
    }
    if (any) sample(samples, DAEMON_METRICS_OTHERS, others);
    return NULL;
}

static Error *sample_devices(DaemonMetrics *metrics, MetricId metric, MetricSamples *samples) {
    for (uint32_t i = 0; i < control_device_count(metrics->control); i++) {
        ControlDeviceStatus status;
        TRY(control_get_device(metrics->control, i, &status));
        const DeviceMemory *memory = &status.memory;
        bool has_memory = !status.lost;
        sample(samples, status.name,
            metric == METRIC_DEVICE_BYTES
                ? (has_memory ? (double)(memory->total_bytes - memory->free_bytes) : 0)
                : status.busy_seconds);
    }
    return NULL;
}

static Error *sample_files(DaemonMetrics *metrics, MetricSamples *samples) {
    StoreFile files[STORE_FILE_COUNT];
    TRY(store_files_measure(metrics->store, files));
    for (int i = 0; i < STORE_FILE_COUNT; i++)
        sample(samples, files[i].name, (double)files[i].bytes);
    return NULL;
}

static Error *sample_weights(DaemonMetrics *metrics, MetricId metric, MetricSamples *samples) {
    if (!metrics->weights) return NULL;
    WeightCacheCounts counts = weight_cache_count(metrics->weights);
    uint64_t value = metric == METRIC_WEIGHT_CACHE_HITS        ? counts.hits
                     : metric == METRIC_WEIGHT_CACHE_MISSES    ? counts.misses
                     : metric == METRIC_WEIGHT_CACHE_EVICTIONS ? counts.evictions
                     : metric == METRIC_WEIGHT_CACHE_DAMAGED   ? counts.damaged
                                                               : counts.bytes;
    metrics_sample(samples, NULL, (double)value);
    return NULL;
}

static bool is_of_weights(MetricId metric) {
    return metric == METRIC_WEIGHT_CACHE_HITS || metric == METRIC_WEIGHT_CACHE_MISSES ||
           metric == METRIC_WEIGHT_CACHE_EVICTIONS || metric == METRIC_WEIGHT_CACHE_DAMAGED ||
           metric == METRIC_WEIGHT_CACHE_BYTES;
}

static Error *collect(void *self, MetricId metric, MetricSamples *samples) {
    if (metric == METRIC_JOBS) return sample_jobs(self, samples);
    if (metric == METRIC_QUEUE_DEPTH || metric == METRIC_DEVICE_SECONDS ||
        metric == METRIC_STORE_BYTES)
        return sample_tenants(self, metric, samples);
    if (metric == METRIC_DEVICE_BYTES || metric == METRIC_DEVICE_BUSY_SECONDS)
        return sample_devices(self, metric, samples);
    if (metric == METRIC_STORE_FILE_BYTES) return sample_files(self, samples);
    if (is_of_weights(metric)) return sample_weights(self, metric, samples);
    return NULL;
}

MetricSource daemon_metrics_source(DaemonMetrics *metrics) {
    return (MetricSource){.collect = collect, .self = metrics};
}
