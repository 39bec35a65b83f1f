#include "scheduler/control/requests/control_recovery.h"

#include <math.h>
#include <stdio.h>

#include "base/allocator.h"
#include "scheduler/control/devices/control_place.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/control_tenants.h"
#include "scheduler/control/state/job_models.h"

/* ---- start: what the store holds ---- */

/* Gives the job its model, without reading the weights. */
static Error *set_model(ControlJob *job, const Job *row) {
    const Control *control = job->control;
    const ControlStorePort *store = &control->ports.store;
    StoreModel found;
    const uint64_t number = control_model_number(control, row->tenant, &row->executable);
    const ControlModel *model = control_find_model(control, number);
    if (model)
        return control_job_set_model(
            job, &row->executable, model->constant_bytes, model->device_strings);
    TRY(store->find_model(store->self, row->tenant, &row->executable, &found));
    return control_job_set_model(job, &row->executable, found.constant_bytes, found.device_strings);
}

/* Whether it was suspended before: then it is not suspended after a time any more, nor once more
 * where it stands. And whether it was told that its deadline has passed. */
static Error *find_past(ControlJob *job, const Job *row) {
    const ControlStorePort *store = &job->control->ports.store;
    StorePast past;
    TRY(store->find_past(store->self, row->tenant, row->id, &past));
    if (past.suspended) job->asked.suspend_due_ns = JOB_SUSPEND_PASSED;
    if (past.missed) job->asked.deadline_state = JOB_DEADLINE_MISSED;
    return NULL;
}

static Error *fill(ControlJob *job, const Job *row) {
    Control *control = job->control;
    ByteWriter OWN_BYTES(policy) = {0};
    job->tenant = row->tenant;
    job->priority = row->priority;
    job->deadline = row->deadline;
    job->asked.deadline_state = isnan(row->deadline) ? JOB_DEADLINE_NONE : JOB_DEADLINE_AHEAD;
    job->pending.stored = row->state;
    job->pending.epoch = row->epoch;
    control_step_durable_taken(job, !isnan(row->checkpoint_created));
    job->account.device_seconds_before = row->device_seconds;
    job->account.started = row->started;
    double age = control_calendar_s(control) - row->submitted;
    if (age >= 0 &&
        age * 1e9 < (double)control_now_ns(control)) /* else it is older than the clock */
        job->account.submitted_ns = control_now_ns(control) - (uint64_t)(age * 1e9);
    TRY(control->ports.store.get_policy(control->ports.store.self, row->tenant, row->id, &policy));
    TRY(job_policy_read(policy.data, policy.size, &job->policy));
    if (row->priority >= POLICY_CLASS_COUNT)
        FAIL(CORRUPT, "catalog.db: a job of priority %d; run fsck", row->priority);
    bool late = row->deadline < control_calendar_s(control);
    if (job->policy.suspend_after_ns || job->policy.suspend_at || late) TRY(find_past(job, row));
    TRY(set_model(job, row));
    return control_job_name(job, row->id);
}

static Error *adopt(Control *control, const Job *row, bool restarted) {
    ControlJob *job;
    uint64_t device;
    TRY(control_tell_tenant(control, row->tenant));
    TRY(control_job_create(control, &job));
    Error *error = fill(job, row);
    if (!error && row->state == JOB_STATE_QUEUED) {
        /* the device it demanded may be gone; then any will do */
        if (control_job_place(job, job->policy.device, &device))
            control_job_submit(job,
                job_durable_has_checkpoint(&job->pending.durable) ? POLICY_PLACE_DISK
                                                                  : POLICY_PLACE_NONE,
                device, 0);
    }
    if (!error) {
        if (restarted && row->state == JOB_STATE_QUEUED)
            control_tell(job, JOB_EVENT_RESTARTED,
                job_durable_has_checkpoint(&job->pending.durable)
                    ? "the daemon was started again; it goes on from its checkpoint"
                    : "the daemon was started again; it begins with its inputs");
        control_update_status(job);
        return NULL;
    }
    control_step_storing(job, JOB_STORING_EVENT_FORGET);
    control_job_settle(job);
    char text[JOB_ID_TEXT_SIZE];
    job_id_print(row->id, text);
    return error_wrap(error, "job %s", text);
}

Error *control_load_row(Control *control, TenantId tenant, JobId id) {
    Job row;
    TRY(control->ports.store.get(control->ports.store.self, tenant, id, &row));
    if (control_job_find(control, tenant, id)) return NULL;
    return adopt(control, &row, false);
}

/* ---- jobs that cannot go on: one of them must not keep the others from running ---- */

static void warn(const Control *control, const char *text) {
    if (control->options.warn) control->options.warn(NULL, text);
}

/* It is held in the store, if that can still be written of it; it is not in memory, so it does not
 * run either way. */
static void hold(Control *control, int64_t row, const Error *reason) {
    char why[JOB_WHY_SIZE], text[JOB_WHY_SIZE + 256];
    char name[JOB_ID_TEXT_SIZE];
    (void)snprintf(why, sizeof why, "cannot go on here: %s", error_message(reason));
    const ControlStorePort *store = &control->ports.store;
    Error *error = store->hold_at(store->self, row, why);
    store->name_at(store->self, row, name);
    (void)snprintf(text, sizeof text, "job %s does not run, %s%s%s", name, why,
        error ? "; it cannot be marked as held: " : "; it is held",
        error ? error_message(error) : "");
    error_free(error); /* said */
    warn(control, text);
}

static Error *adopt_at(Control *control, const JobPlace *place, JobState state) {
    Job row;
    TRY(control->ports.store.get_at(control->ports.store.self, place->row, &row));
    if (row.state != state || row.tenant != place->tenant)
        FAIL(CORRUPT, "catalog.db: an index and a row disagree about it; run fsck");
    return adopt(control, &row, true);
}

static Error *adopt_or_hold(Control *control, const JobPlace *place, JobState state) {
    Error *error = adopt_at(control, place, state);
    if (!error || error_code(error) == ERROR_OUT_OF_MEMORY) return error;
    hold(control, place->row, error);
    error_free(error); /* told, and in the job's events */
    return NULL;
}

static Error *adopt_some(Control *control, JobState state, const JobPlace *places, size_t count) {
    for (size_t i = 0; i < count; i++) TRY(adopt_or_hold(control, &places[i], state));
    return NULL;
}

static Error *adopt_all(Control *control, JobState state) {
    const ControlStorePort *store = &control->ports.store;
    void *memory;
    TRY(memory_alloc(JOB_PLACES_MAX, sizeof(JobPlace), &memory));
    JobPlace *places = memory;
    int64_t after = 0;
    size_t count = JOB_PLACES_MAX;
    Error *error = NULL;
    while (!error && count == JOB_PLACES_MAX) {
        error = store->list_places(store->self, state, after, places, &count);
        if (!error) error = adopt_some(control, state, places, count);
        if (!error && count > 0) after = places[count - 1].row;
    }
    memory_free(memory);
    return error;
}

/* Warns of damaged settings of tenants, whose defaults hold. */
static Error *tell_damage(Control *control) {
    OWN(TenantList, tenants) = NULL;
    char text[256];
    TRY(control->ports.store.list_tenants(control->ports.store.self, &tenants));
    for (size_t i = 0; i < tenants->count; i++) {
        const Tenant *tenant = &tenants->items[i];
        if (!tenant->damage[0]) continue;
        (void)snprintf(text, sizeof text,
            "tenant %s: %s makes no sense, the default counts; `layover fsck --repair` removes it",
            tenant->name, tenant->damage);
        warn(control, text);
    }
    return NULL;
}

Error *control_fail_absent(Control *control, const ControlRequest *request, const char *what) {
    Job job;
    const ControlStorePort *store = &control->ports.store;
    TRY(store->get(store->self, request->tenant, request->job, &job));
    FAIL(CONFLICT, "cannot %s a job that is %s", what, job_state_info(job.state)->name);
}

Error *control_find_held(
    Control *control, const ControlRequest *request, const char *what, ControlJob **out_job) {
    Job row;
    *out_job = control_job_find(control, request->tenant, request->job);
    if (*out_job && !job_storing_has_ended(&(*out_job)->pending.storing)) return NULL;
    TRY(control->ports.store.get(control->ports.store.self, request->tenant, request->job, &row));
    if (*out_job || row.state != JOB_STATE_HELD) return control_fail_absent(control, request, what);
    TRY(adopt(control, &row, false)); /* what kept it from going on may have been repaired */
    *out_job = control_job_find(control, request->tenant, request->job);
    return NULL;
}

Error *control_cancel_absent(Control *control, ControlRequest *request) {
    Job row;
    TRY(control->ports.store.get(control->ports.store.self, request->tenant, request->job, &row));
    if (row.state != JOB_STATE_HELD || control_job_find(control, request->tenant, request->job))
        return control_fail_absent(control, request, "cancel");
    TRY(control->ports.store.cancel(control->ports.store.self, request->tenant, request->job));
    control_answer(request, NULL);
    return NULL;
}

Error *control_recover(Control *control) {
    TRY(tell_damage(control));
    TRY(adopt_all(control, JOB_STATE_QUEUED));
    TRY(adopt_all(control, JOB_STATE_SUSPENDED));
    TRY(adopt_all(control, JOB_STATE_HELD));
    return adopt_all(control, JOB_STATE_IN_DOUBT);
}
