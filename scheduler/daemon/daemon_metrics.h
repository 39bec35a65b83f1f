#pragma once
/* What /metrics shows of the store and the control thread: looked up when somebody reads. */
#include "scheduler/control/control.h"
#include "scheduler/node/metrics.h"
#include "store/weights/weight_cache.h"

/* Tenants with rows of their own: the first so many that were made. The others share the row
 * DAEMON_METRICS_OTHERS, which is no name of a tenant, so that a million of tenants are not a
 * million of time series. */
enum { DAEMON_METRICS_TENANTS_MAX = 1000 };
#define DAEMON_METRICS_OTHERS "_others"

/* Borrowed, and the struct outlives the metrics. */
typedef struct DaemonMetrics {
    Store *store;
    Control *control;
    WeightCache *weights; /* NULL: prepared weights are not kept */
} DaemonMetrics;

MetricSource daemon_metrics_source(DaemonMetrics *metrics);
