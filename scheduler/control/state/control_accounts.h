#pragma once
/* What is counted of jobs, tenants and slices. On the control thread. */
#include "scheduler/control/state/control_internal.h"

/* The metric's row; nothing without metrics. */
void control_count(Control *control, MetricId metric, size_t row, int64_t value);
/* New ones. */
void control_account_begin(Control *control, ControlTenant *tenant);
MUST_CHECK Error *control_declare_metrics(Metrics *metrics);
/* That a job came into a state in which it ends. */
void control_count_end(Control *control, JobState state);
/* The job has run to its end: what it took foretells what the next one of its kind takes. */
void control_account_run(ControlJob *job);
/* start_ns 0: there is nothing to be measured. */
void control_observe(Control *control, MetricId metric, uint64_t start_ns, uint64_t end_ns);
/* Under status_mutex, as the next one: its tenant's jobs are counted anew. */
void control_account_phase(ControlJob *job);
/* Stores the device-time of a job that ended in its row before its last slice did. */
void control_account_late(const ControlJob *job);
void control_account_slice(ControlJob *job, uint64_t now_ns, uint64_t device_ns);
