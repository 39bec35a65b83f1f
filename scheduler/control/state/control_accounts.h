#pragma once
/* Counts jobs, tenants and slices: metrics, device-time, phases, and the counters of jobs that have
 * ended. Called on the control thread; what control.h declares, on any. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/node/recent_time.h"
#include "scheduler/node/run_times.h"

/* For control_accounts.c alone. */
typedef struct JobAccounts {
    RecentTime recent; /* device-time of all tenants; guarded by the status mutex */
    RunTimes *run_times;
    /* The last jobs that ended, for `run` through a daemon; guarded by the status mutex. */
    struct ControlEnded {
        JobId job;
        JobRunCounters counters;
    } ended[CONTROL_ENDED_MAX];
    uint64_t ended_count;
} JobAccounts;

MUST_CHECK Error *job_accounts_init(JobAccounts *accounts);
void job_accounts_deinit(JobAccounts *accounts);

MUST_CHECK Error *control_declare_metrics(Metrics *metrics);
/* Adds to a row of a metric. Does nothing without metrics. */
void control_count(Control *control, MetricId metric, size_t row, int64_t value);
/* Adds a duration to a histogram. start_ns 0: there is nothing to measure. */
void control_observe(Control *control, MetricId metric, uint64_t start_ns, uint64_t end_ns);
/* Counts a job that came into a state in which a job ends. */
void control_count_end(Control *control, JobState state);

/* Counts the job in its present phase. With the status mutex, as the next two. */
void control_account_phase(ControlJob *job);
/* Keeps the counters of a job that leaves memory, for control_find_ended. */
void control_account_ended(const ControlJob *job);
/* Adds the device-time of a slice to the job, its tenant and all tenants. */
void control_account_slice(ControlJob *job, uint64_t now_ns, uint64_t device_ns);
/* Stores the device-time of a job whose end was stored before its last slice ended. */
void control_account_late(const ControlJob *job);
/* Called when a job has run to its end: its time foretells the times of jobs of its kind. */
void control_account_run(ControlJob *job);
/* The time that a run of so many items probably takes; 0: nothing is known of such jobs. */
uint64_t control_expect_run(const ControlJob *job, int64_t item_count);
