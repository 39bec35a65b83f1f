#pragma once
/* The metrics of the store and the control thread: collected when /metrics is read, on the reader's
 * handler thread. Made by daemon.c. */
#include "scheduler/control/control.h"
#include "scheduler/node/metrics.h"
#include "store/weights/weight_cache.h"

/* Tenants with rows of their own: the first so many that were made. The other tenants share the row
 * DAEMON_METRICS_OTHERS, which is no name of a tenant, so that a million tenants do not make a
 * million time series. */
enum { DAEMON_METRICS_TENANTS_MAX = 1000 };
#define DAEMON_METRICS_OTHERS "_others"

/* All members are borrowed, and the struct outlives the metrics. */
typedef struct DaemonMetrics {
    Store *store;
    Control *control;
    WeightCache *weights; /* NULL: weight images are not kept */
} DaemonMetrics;

MetricSource daemon_metrics_source(DaemonMetrics *metrics);
