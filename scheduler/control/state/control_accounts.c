#include "base/allocator.h"
#include "base/container_of.h"
#include "base/duration.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_internal.h"
#include "scheduler/node/refusal_text.h"

#define SHARE_WINDOW_NS (10 * SECOND_NS)

void control_count(Control *control, MetricId metric, size_t row, int64_t value) {
    if (control->options.metrics) metrics_add(control->options.metrics, metric, row, value);
}

void control_observe(Control *control, MetricId metric, uint64_t start_ns, uint64_t end_ns) {
    if (!control->options.metrics || !start_ns) return;
    metrics_observe_ns(control->options.metrics, metric, end_ns > start_ns ? end_ns - start_ns : 0);
}

/* The states in which a job ends here, in the order of their numbers. */
#define ROW_UNFINISHED(text)
#define ROW_FINISHED(text) "state=\"" text "\"",
#define ROW_TOMBSTONE(text) ROW_FINISHED(text)
static const char *const ended_rows[] = {
#define JOB_STATE(name, number, text, class, meaning) ROW_##class(text)
#include "store/jobs/job_states.def"
};

Error *control_declare_metrics(Metrics *metrics) {
    return metrics_set_rows(
        metrics, METRIC_JOBS_ENDED, ended_rows, sizeof ended_rows / sizeof *ended_rows);
}

void control_count_end(Control *control, JobState state) {
    size_t row = 0;
    for (int i = JOB_STATE_NONE + 1; i < (int)state; i++)
        row += job_state_exists(i) && !job_state_is_unfinished((JobState)i);
    control_count(control, METRIC_JOBS_ENDED, row, 1);
}

static ControlPhase phase_of(const ControlJob *job) {
    if (job_storing_has_ended(&job->pending.storing) || job_storing_is_new(&job->pending.storing))
        return CONTROL_PHASE_NONE;
    if (job->pending.stored == JOB_STATE_SUSPENDED) return CONTROL_PHASE_SUSPENDED;
    if (job->pending.stored == JOB_STATE_HELD || job->pending.stored == JOB_STATE_IN_DOUBT)
        return CONTROL_PHASE_HELD;
    if (!job_site_is_open(&job->site) && !job_site_is_running(&job->site))
        return CONTROL_PHASE_WAITING;
    return job->known ? CONTROL_PHASE_RUNNING : CONTROL_PHASE_ENDING;
}

void control_account_phase(ControlJob *job) {
    ControlTenant *tenant = id_map_find(&job->control->jobs.tenants, 0, (uint64_t)job->tenant);
    ControlPhase phase = phase_of(job);
    if (!tenant || phase == job->account.phase) return;
    tenant->jobs[job->account.phase]--;
    tenant->jobs[phase]++;
    job->account.phase = phase;
}

void control_account_begin(Control *control, ControlTenant *tenant) {
    if (!control->recent.bucket_ns) recent_time_init(&control->recent, SHARE_WINDOW_NS);
    recent_time_init(&tenant->recent, SHARE_WINDOW_NS);
    recent_time_init(&tenant->hour, 3600 * SECOND_NS);
}

void control_account_late(const ControlJob *job) {
    const ControlStorePort *store = &job->control->ports.store;
    store->set_time(store->self, job->tenant, job->id,
        job->account.device_seconds_before + (double)job->account.device_ns * 1e-9);
}

void control_account_slice(ControlJob *job, uint64_t now_ns, uint64_t device_ns) {
    Control *control = job->control;
    ControlTenant *tenant = id_map_find(&control->jobs.tenants, 0, (uint64_t)job->tenant);
    job->account.device_ns += device_ns;
    tenant->device_ns += device_ns;
    recent_time_add(&tenant->recent, now_ns, device_ns);
    recent_time_add(&tenant->hour, now_ns, device_ns);
    recent_time_add(&control->recent, now_ns, device_ns);
}

void control_account_run(ControlJob *job) {
    uint64_t count = job->slice.items_done > 0 ? (uint64_t)job->slice.items_done : 1;
    uint64_t before_ns = (uint64_t)(job->account.device_seconds_before * 1e9);
    run_times_add(job->control->run_times, job->model->key.low, job->function, count,
        before_ns + job->account.device_ns);
}

void control_get_tenant(Control *control, TenantId id, ControlTenantStatus *out_status) {
    uint64_t now_ns = control_now_ns(control);
    ControlTenantStatus status = {0};
    (void)pthread_mutex_lock(&control->status_mutex);
    ControlTenant *tenant = id_map_find(&control->jobs.tenants, 0, (uint64_t)id);
    if (tenant) {
        uint64_t all_ns = recent_time_sum(&control->recent, now_ns);
        status = (ControlTenantStatus){.waiting = tenant->jobs[CONTROL_PHASE_WAITING],
            .running = tenant->jobs[CONTROL_PHASE_RUNNING],
            .ending = tenant->jobs[CONTROL_PHASE_ENDING],
            .suspended = tenant->jobs[CONTROL_PHASE_SUSPENDED],
            .held = tenant->jobs[CONTROL_PHASE_HELD],
            .device_seconds = (double)tenant->device_ns * 1e-9,
            .device_seconds_last_hour = (double)recent_time_sum(&tenant->hour, now_ns) * 1e-9};
        if (all_ns > 0)
            status.share = (double)recent_time_sum(&tenant->recent, now_ns) / (double)all_ns;
    }
    (void)pthread_mutex_unlock(&control->status_mutex);
    *out_status = status;
}

size_t control_running_count(Control *control) {
    size_t count = 0;
    (void)pthread_mutex_lock(&control->status_mutex);
    for (size_t i = 0; i < control->jobs.tenants.capacity; i++) {
        const ControlTenant *tenant = (const ControlTenant *)control->jobs.tenants.slots[i];
        if (tenant)
            count += tenant->jobs[CONTROL_PHASE_RUNNING] + tenant->jobs[CONTROL_PHASE_ENDING];
    }
    (void)pthread_mutex_unlock(&control->status_mutex);
    return count;
}

/* ---- a place in the queue ---- */

Error *control_check_queue(Control *control, const Tenant *tenant) {
    const int64_t quota = tenant->quotas[QUOTA_QUEUED_JOBS];
    ControlTenantStatus status;
    control_get_tenant(control, tenant->id, &status);
    if (quota == QUOTA_UNLIMITED || (int64_t)status.waiting < quota) return NULL;
    return control_send(control, &(ControlRequest){.kind = CONTROL_PLACE, .tenant = tenant->id});
}

Error *control_fail_refused(const PolicyAction *refusal) {
    char text[REFUSAL_TEXT_SIZE];
    refusal_text_print(refusal, text);
    if (refusal->reason == POLICY_REASON_NO_DEVICE) FAIL(NOT_FOUND, "%s", text);
    FAIL(EXHAUSTED, "%s", text);
}

/* Called when a tenant's queue looks full. Submits a job without model and memory, which the policy
 * refuses, so that the event log records each refusal. */
Error *control_check_place(Control *control, TenantId tenant) {
    PolicyUsage usage = {0};
    ControlJob *job;
    TRY(control_tell_tenant(control, tenant));
    control_apply_events(control);
    TRY(control_check(control));
    const ControlTenant *known = id_map_find(&control->jobs.tenants, 0, (uint64_t)tenant);
    (void)policy_find_usage(control->policy, (uint64_t)tenant, &usage);
    if (usage.queued_jobs < known->told.queued_jobs) return NULL;
    TRY(control_job_create(control, &job));
    job->tenant = tenant;
    control_step_storing(job, JOB_STORING_EVENT_FORGET);
    control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_JOB_SUBMITTED,
                                    .job = job->number.low,
                                    .tenant = (uint64_t)tenant,
                                    .class_ = POLICY_NORMAL,
                                    .weight = 1,
                                    .device = POLICY_NO_DEVICE});
    control_apply_events(control);
    PolicyAction refusal = job->refusal;
    control_job_settle(job);
    TRY(control_check(control));
    return control_fail_refused(&refusal);
}
