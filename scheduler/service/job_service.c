#include "scheduler/service/job_service.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/jobs/intake_inputs.h"
#include "scheduler/jobs/job_intake.h"
#include "scheduler/service/job_service_internal.h"
#include "scheduler/policy/policy_event.h"
#include "store/jobs/jobs_damaged.h"
#include "store/jobs/job_checkpoints.h"
#include "store/accounts/tenants.h"

static double calendar_now(void) { return clock_real().calendar_s(clock_real().self); }

Error *job_service_find(JobService *service, const Caller *caller, const char *text, Job *out_job) {
    JobId id;
    TenantId tenant = caller->tenant;
    if (!job_id_parse(text, &id)) FAIL(NOT_FOUND, "there is no job %s", text);
    if (caller->role == CALLER_ADMIN) TRY(jobs_find_tenant(service->store, id, &tenant));
    return jobs_get(service->store, tenant, id, out_job);
}

/* ---- showing ---- */

static void show_times(const Job *row, JobsApiJob *out) {
    out->submitted = row->submitted;
    out->started = row->started;
    out->finished = row->finished;
    out->checkpoint_age_s = calendar_now() - row->checkpoint_created; /* NaN stays NaN */
    out->deadline = row->deadline;
    out->missed = (out->ended ? row->finished : calendar_now()) > row->deadline; /* NaN: not */
}

/* Shows the counters of a run that has ended or was stopped, as long as this process knows it. */
static void show_counters(JobService *service, const Job *row, JobsApiJob *out) {
    ControlStatus status = {0};
    if (row->items_total >= 0) return;
    if (!control_find_status(service->control, row->id, &status))
        (void)control_find_ended(service->control, row->id, &status.counters);
    if (status.counters.instructions == 0) return;
    out->instructions = (int64_t)status.counters.instructions;
    out->kernel_calls = (int64_t)status.counters.kernel_calls;
    out->peak_bytes = (int64_t)status.counters.peak_bytes;
    out->traffic = status.counters.traffic;
}

static void show_status(
    JobService *service, const Job *row, const Tenant *tenant, JobsApiJob *out) {
    ControlStatus status;
    if (out->ended || !control_find_status(service->control, row->id, &status)) return;
    if (row->state == JOB_STATE_QUEUED && status.halted)
        (void)snprintf(out->state, sizeof out->state, "suspended");
    if (row->state == JOB_STATE_QUEUED && status.running)
        (void)snprintf(out->state, sizeof out->state, "running");
    if (status.items_done > out->items_done) out->items_done = status.items_done;
    if (status.device_seconds > out->device_seconds) out->device_seconds = status.device_seconds;
    out->promised_end = status.promised_end;
    if (status.device[0]) (void)snprintf(out->device, sizeof out->device, "%s", status.device);
    if (status.why[0])
        (void)snprintf(out->why, sizeof out->why, "%s", status.why);
    else if (row->state == JOB_STATE_QUEUED && !status.running)
        job_service_explain_wait(service, tenant, out);
}

/* Shows the reason for the job's state: that of the newest event with one. Being submitted, or
 * doing as asked, needs no reason. */
static Error *show_why(JobService *service, const Job *row, JobsApiJob *out) {
    OWN(JobEventList, list) = NULL;
    if (row->state == JOB_STATE_QUEUED || row->state == JOB_STATE_SUCCEEDED) return NULL;
    int64_t since = row->event_count > 8 ? row->event_count - 8 : 0;
    Error *error = job_events_list(service->store, row->tenant, row->id, since, &list);
    if (error_code(error) == ERROR_CORRUPT) { /* the damage is why, and hides no other job */
        (void)snprintf(out->why, sizeof out->why, "%s", error_message(error));
        error_free(error);
        return NULL;
    }
    TRY(error);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == JOB_EVENT_STATE)
            (void)snprintf(out->why, sizeof out->why, "%s", list->items[i].why);
    return NULL;
}

static Error *show(JobService *service, const Job *row, const Tenant *tenant, JobsApiJob *out_job) {
    JobsApiJob job = {.place = row->row,
        .priority = (PolicyClass)row->priority,
        .ended = !job_state_is_unfinished(row->state),
        .items_done = row->items_done,
        .items_total = row->items_total,
        .outputs = row->outputs_visible,
        .last_event = row->event_count,
        .instructions = -1,
        .kernel_calls = -1,
        .peak_bytes = -1,
        .device_seconds = row->device_seconds};
    job_id_print(row->id, job.job);
    (void)snprintf(job.model, sizeof job.model, "%s", row->model);
    (void)snprintf(job.tenant, sizeof job.tenant, "%s", tenant->name);
    (void)snprintf(job.state, sizeof job.state, "%s", job_state_info(row->state)->name);
    (void)snprintf(job.device, sizeof job.device, "%s", row->device);
    (void)snprintf(job.migrating, sizeof job.migrating, "%s", row->migrating);
    show_times(row, &job);
    TRY(show_why(service, row, &job));
    show_status(service, row, tenant, &job);
    *out_job = job;
    return NULL;
}

Error *job_service_show(JobService *service, const Job *row, JobsApiJob *out_job) {
    Tenant tenant;
    TRY(settings_cache_get_tenant(service->settings, row->tenant, &tenant));
    return show(service, row, &tenant, out_job);
}

/* ---- submitting ---- */

static Error *submit(
    void *self, const Caller *caller, Submission *inout_submission, JobsApiJob *out_job) {
    JobService *service = self;
    JobId id;
    bool created;
    Job row;
    inout_submission->tenant = caller->tenant;
    TRY(job_intake_submit(service->control, service->intake, inout_submission, &id, &created));
    if (!created) {
        TRY(jobs_get(service->store, caller->tenant, id, &row));
        return job_service_show(service, &row, out_job);
    }
    *out_job = (JobsApiJob){.deadline = inout_submission->deadline};
    ControlStatus status;
    if (control_find_status(service->control, id, &status))
        out_job->promised_end = status.promised_end;
    job_id_print(id, out_job->job);
    (void)snprintf(
        out_job->state, sizeof out_job->state, "%s", job_state_info(JOB_STATE_QUEUED)->name);
    return NULL;
}

/* ---- looking ---- */

static Error *get(void *self, const Caller *caller, const char *job, JobsApiJob *out_job) {
    Job row;
    TRY(job_service_find(self, caller, job, &row));
    TRY(job_service_show(self, &row, out_job));
    show_counters(self, &row, out_job);
    job_service_explain_turn(self, &row, out_job);
    job_service_show_moved(self, caller, &row, out_job);
    return NULL;
}

static Error *list(void *self, const Caller *caller, const char *state, int64_t after,
    size_t count_max, JobsApiJobVisitor *visit, void *context) {
    enum { READ_MAX = 1024 };
    JobService *service = self;
    JobState wanted = JOB_STATE_NONE;
    size_t count = READ_MAX;
    Tenant tenant;
    if (state && !job_state_find_shown(state, &wanted))
        FAIL(INVALID, "there is no state %s", state);
    TRY(settings_cache_get_tenant(service->settings, caller->tenant, &tenant));
    while (count == READ_MAX && count_max > 0) {
        OWN(JobList, rows) = NULL;
        TRY(jobs_list(service->store, caller->tenant, wanted, after, READ_MAX, &rows));
        count = rows->count;
        for (size_t i = 0; i < count && count_max > 0; i++) {
            JobsApiJob job;
            TRY(show(service, &rows->items[i], &tenant, &job));
            if (state && strcmp(job.state, state) != 0) continue;
            TRY(visit(context, &job));
            count_max--;
        }
        if (count > 0) after = rows->items[count - 1].row;
    }
    return NULL;
}

static Error *tell_event(const JobEvent *from, JobsApiEventVisitor *visit, void *context) {
    JobsApiEvent event = {.sequence = from->sequence, .time = from->time};
    (void)snprintf(event.state, sizeof event.state, "%s", job_state_info(from->state)->name);
    (void)snprintf(event.kind, sizeof event.kind, "%s", job_event_kind_name(from->kind));
    (void)snprintf(event.why, sizeof event.why, "%s", from->why);
    if (from->kind == JOB_EVENT_OUTPUT)
        (void)snprintf(event.why, sizeof event.why, "%lld so far", (long long)from->output_end);
    return visit(context, &event);
}

static Error *events(void *self, const Caller *caller, const char *job, int64_t after,
    size_t count_max, JobsApiEventVisitor *visit, void *context) {
    JobService *service = self;
    Job row;
    size_t count = JOB_EVENTS_READ_MAX;
    TRY(job_service_find(service, caller, job, &row));
    while (count == JOB_EVENTS_READ_MAX && count_max > 0) {
        OWN(JobEventList, rows) = NULL;
        TRY(job_events_list(service->store, row.tenant, row.id, after, &rows));
        count = rows->count;
        for (size_t i = 0; i < count && count_max > 0; i++) {
            const JobEvent *from = &rows->items[i];
            after = from->sequence;
            if (from->kind == JOB_EVENT_OUTPUT && i + 1 < count &&
                rows->items[i + 1].kind == JOB_EVENT_OUTPUT)
                continue; /* the last one of them tells how many there are */
            TRY(tell_event(from, visit, context));
            count_max--;
        }
    }
    return NULL;
}

static Error *checkpoints(void *self, const Caller *caller, const char *job, int64_t after,
    size_t count_max, JobsApiCheckpointVisitor *visit, void *context) {
    JobService *service = self;
    OWN(JobCheckpointList, rows) = NULL;
    Job row;
    TRY(job_service_find(service, caller, job, &row));
    TRY(job_checkpoints_list_page(service->store, row.tenant, row.id, after, count_max, &rows));
    for (size_t i = 0; i < rows->count; i++) {
        const JobCheckpoint *from = &rows->items[i];
        JobsApiCheckpoint checkpoint = {.id = from->number,
            .time = from->created,
            .bytes = from->bytes_stored,
            .items_done = row.items_total < 0 ? -1 : from->items_done,
            .sequence = from->outputs};
        TRY(visit(context, &checkpoint));
    }
    return NULL;
}

/* ---- changing ---- */

typedef struct ForkWork {
    const Job *row;
    int64_t checkpoint;
    JobCopy copy;
} ForkWork;

static Error *do_fork(Connection *catalog, void *context) {
    ForkWork *work = context;
    return jobs_fork(catalog, work->row->tenant, work->row->id, work->checkpoint, &work->copy);
}

Error *job_service_copy(JobService *service, CatalogWork work, void *context, JobCopy *inout_copy) {
    Error *error = NULL;
    while (!error && !inout_copy->done) error = catalog_run(service->catalog, work, context);
    job_copy_deinit(inout_copy);
    if (error && service->removed) service->removed(service->removed_context);
    return error;
}

/* As for a submission: the fork waits in the same queue. */
Error *job_service_check_queue(JobService *service, TenantId id) {
    Tenant tenant;
    TRY(settings_cache_get_tenant(service->settings, id, &tenant));
    return control_check_queue(service->control, &tenant);
}

static Error *fork_job(
    JobService *service, const Job *row, int64_t checkpoint, bool asked, JobId *out_id) {
    ForkWork work = {.row = row, .checkpoint = checkpoint};
    TRY(job_service_check_queue(service, row->tenant));
    if (checkpoint == 0 && !asked && job_state_is_unfinished(row->state)) {
        Error *error = control_checkpoint(service->control, row->tenant, row->id);
        if (error_code(error) == ERROR_EXHAUSTED) return error; /* not where it is now */
        error_free(error);                                      /* from the newest there is */
    }
    TRY(job_service_copy(service, do_fork, &work, &work.copy));
    TRY(control_load(service->control, row->tenant, work.copy.id));
    *out_id = work.copy.id;
    return NULL;
}

/* The row of a job that is in a file stays. */
static Error *do_remove(Connection *catalog, void *context) {
    const Job *row = context;
    if (row->state == JOB_STATE_RELEASED && row->bytes_stored > 0)
        return jobs_drop_contents(catalog, row->tenant, row->id);
    return jobs_remove(catalog, row->tenant, row->id);
}

static Error *remove_job(JobService *service, Job *row) {
    TRY(catalog_run_freeing(service->catalog, do_remove, row));
    if (service->removed) service->removed(service->removed_context);
    return NULL;
}

typedef struct DamagedJob {
    TenantId tenant;
    JobId id;
} DamagedJob;

static Error *do_remove_damaged(Connection *catalog, void *context) {
    const DamagedJob *job = context;
    return jobs_remove_damaged(catalog, job->tenant, job->id);
}

/* Removes a job that is damaged, the only change that it allows. owned_error: from reading the
 * job. */
static Error *remove_damaged(JobService *service, const Caller *caller, const char *job,
    Error *owned_error, JobsApiJob *out_job) {
    DamagedJob damaged = {.tenant = caller->tenant};
    if (error_code(owned_error) != ERROR_CORRUPT || !job_id_parse(job, &damaged.id))
        return owned_error;
    error_free(owned_error); /* the job goes for it */
    if (caller->role == CALLER_ADMIN)
        TRY(jobs_find_tenant(service->store, damaged.id, &damaged.tenant));
    TRY(catalog_run_freeing(service->catalog, do_remove_damaged, &damaged));
    *out_job = (JobsApiJob){0};
    job_id_print(damaged.id, out_job->job);
    (void)snprintf(
        out_job->state, sizeof out_job->state, "%s", job_state_info(JOB_STATE_HELD)->name);
    return NULL;
}

static Error *change(void *self, const Caller *caller, const char *job, JobsApiChange change_kind,
    const JobsApiChangeOptions *options, JobsApiJob *out_job) {
    JobService *service = self;
    Job row;
    Error *error = job_service_find(service, caller, job, &row);
    if (error && change_kind == JOBS_API_REMOVE)
        return remove_damaged(service, caller, job, error, out_job);
    TRY(error);
    JobId id = row.id;
    switch (change_kind) {
    case JOBS_API_SUSPEND:
        TRY(control_suspend(service->control, row.tenant, id));
        break;
    case JOBS_API_RESUME:
        if (options->checkpoint) TRY(job_service_go_back(service, &row, options->checkpoint));
        TRY(control_resume(service->control, row.tenant, id, options->device));
        break;
    case JOBS_API_CANCEL:
        TRY(control_cancel(service->control, row.tenant, id));
        break;
    case JOBS_API_FORK:
        TRY(fork_job(service, &row, options->checkpoint, options->asked, &id));
        break;
    case JOBS_API_REMOVE:
        TRY(job_service_show(service, &row, out_job));
        return remove_job(service, &row);
    }
    TRY(jobs_get(service->store, row.tenant, id, &row));
    return job_service_show(service, &row, out_job);
}

static void model_stored(void *self, TenantId tenant, const Digest *identity) {
    const JobService *service = self;
    control_expect_model(service->control, tenant, identity);
}

/* ---- life ---- */

static const JobsApiClass service_class = {
    .submit = submit,
    .get = get,
    .list = list,
    .events = events,
    .outputs = job_service_outputs,
    .watch = job_service_watch,
    .change = change,
    .ask = job_service_ask,
    .verify = job_service_verify,
    .verification = job_service_verification,
    .checkpoints = checkpoints,
    .checkpoint = job_service_checkpoint,
    .restore = job_service_restore,
    .find_model = job_service_find_model,
    .run = job_service_run,
    .devices = job_service_devices,
    .tenants = job_service_tenants,
    .use = job_service_use,
    .tenant_changed = job_service_tenant_changed,
    .model_stored = model_stored,
};

Error *job_service_create(
    SettingsCache *settings, Catalog *catalog, WorkerPool *pool, JobService **out_service) {
    void *memory;
    TRY(memory_alloc(1, sizeof(JobService), &memory));
    JobService *service = memory;
    service->settings = settings;
    service->store = settings_cache_store(settings);
    service->catalog = catalog;
    service->pool = pool;
    Error *error = intake_inputs_budget(&service->intake);
    if (!error) error = passed_answers_create(&service->passed);
    if (!error) error = run_joiner_create(&service->joiner);
    if (error) {
        passed_answers_release(service->passed);
        memory_budget_release(service->intake);
        memory_free(service);
        return error;
    }
    (void)pthread_mutex_init(&service->watches_mutex, NULL);
    *out_service = service;
    return NULL;
}

void job_service_set_control(JobService *service, Control *control) {
    service->control = control;
    run_joiner_set_control(service->joiner, control);
}

void job_service_set_removed(JobService *service, void (*removed)(void *context), void *context) {
    service->removed = removed;
    service->removed_context = context;
}

void job_service_release(JobService *service) {
    if (!service) return;
    run_joiner_release(service->joiner);
    passed_answers_release(service->passed);
    (void)pthread_mutex_destroy(&service->watches_mutex);
    memory_budget_release(service->intake);
    memory_free(service);
}

JobsApi job_service_api(JobService *service) { return (JobsApi){&service_class, service}; }
