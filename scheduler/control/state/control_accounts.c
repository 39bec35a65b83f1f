#include "scheduler/control/state/control_accounts.h"

#include "base/allocator.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_tenants.h"
#include "scheduler/control/state/job_models.h"
#include "scheduler/node/recent_time.h"

Error *job_accounts_init(JobAccounts *accounts) {
    recent_time_init(&accounts->recent, CONTROL_SHARE_WINDOW_NS);
    return memory_alloc(1, sizeof(RunTimes), (void **)&accounts->run_times);
}

void job_accounts_deinit(JobAccounts *accounts) { memory_free(accounts->run_times); }

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
    ControlTenant *tenant = control_find_tenant(job->control, job->tenant);
    ControlPhase phase = phase_of(job);
    if (!tenant || phase == job->account.phase) return;
    tenant->jobs[job->account.phase]--;
    tenant->jobs[phase]++;
    job->account.phase = phase;
}

void control_account_ended(const ControlJob *job) {
    JobAccounts *accounts = job->control->accounts;
    accounts->ended[accounts->ended_count++ % CONTROL_ENDED_MAX] =
        (struct ControlEnded){job->id, job->slice.counters};
}

bool control_find_ended(Control *control, JobId id, JobRunCounters *out_counters) {
    const JobAccounts *accounts = control->accounts;
    bool found = false;
    control_lock(control);
    for (uint64_t i = 1; i <= CONTROL_ENDED_MAX && i <= accounts->ended_count && !found; i++) {
        const struct ControlEnded *ended =
            &accounts->ended[(accounts->ended_count - i) % CONTROL_ENDED_MAX];
        found = job_id_equal(ended->job, id); /* the newest: a job may come back from a file */
        if (found) *out_counters = ended->counters;
    }
    control_unlock(control);
    return found;
}

void control_account_late(const ControlJob *job) {
    const ControlStorePort *store = &job->control->ports.store;
    if (job->transient) return;
    store->set_time(store->self, job->tenant, job->id,
        job->account.device_seconds_before + (double)job->account.device_ns * 1e-9);
}

void control_account_slice(ControlJob *job, uint64_t now_ns, uint64_t device_ns) {
    Control *control = job->control;
    ControlTenant *tenant = control_find_tenant(control, job->tenant);
    job->account.device_ns += device_ns;
    tenant->device_ns += device_ns;
    recent_time_add(&tenant->recent, now_ns, device_ns);
    recent_time_add(&tenant->hour, now_ns, device_ns);
    recent_time_add(&control->accounts->recent, now_ns, device_ns);
}

void control_account_run(ControlJob *job) {
    uint64_t count = job->slice.items_done > 0 ? (uint64_t)job->slice.items_done : 1;
    uint64_t before_ns = (uint64_t)(job->account.device_seconds_before * 1e9);
    run_times_add(job->control->accounts->run_times, job->model->key.low, job->function, count,
        before_ns + job->account.device_ns);
}

uint64_t control_expect_run(const ControlJob *job, int64_t item_count) {
    return run_times_expect(job->control->accounts->run_times, job->model->key.low, job->function,
        item_count > 0 ? (uint64_t)item_count : 1);
}

void control_get_tenant(Control *control, TenantId id, ControlTenantStatus *out_status) {
    uint64_t now_ns = control_now_ns(control);
    ControlTenantStatus status = {0};
    control_lock(control);
    ControlTenant *tenant = control_find_tenant(control, id);
    if (tenant) {
        uint64_t all_ns = recent_time_sum(&control->accounts->recent, now_ns);
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
    control_unlock(control);
    *out_status = status;
}

size_t control_running_count(Control *control) {
    size_t count = 0;
    control_lock(control);
    for (size_t i = 0; i < control->tenants->map.capacity; i++) {
        const ControlTenant *tenant = (const ControlTenant *)control->tenants->map.slots[i];
        if (tenant)
            count += tenant->jobs[CONTROL_PHASE_RUNNING] + tenant->jobs[CONTROL_PHASE_ENDING];
    }
    control_unlock(control);
    return count;
}
