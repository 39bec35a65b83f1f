#include "scheduler/control/requests/control_requests.h"

#include <math.h>

#include "base/allocator.h"
#include "scheduler/control/devices/control_place.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_request.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/requests/control_drain.h"
#include "scheduler/control/requests/control_explain.h"
#include "scheduler/control/requests/control_migration.h"
#include "scheduler/control/requests/control_queue.h"
#include "scheduler/control/requests/control_recovery.h"
#include "scheduler/control/requests/control_releasing.h"
#include "scheduler/control/slices/control_arrival.h"
#include "scheduler/control/slices/control_decisions.h"
#include "scheduler/control/slices/control_slices.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/control_tenants.h"
#include "scheduler/node/submission.h"

/* Takes back a job that was not stored: the policy forgets the job, and its slice ends. */
static void take_off(ControlJob *job) {
    control_step_storing(job, JOB_STORING_EVENT_ROW_REFUSED);
    control_report_known(job, POLICY_EVENT_CANCEL_REQUESTED);
}

static void handle_birth(Control *control, StoreBirth *birth) {
    ControlJob *job = birth->job;
    Error *error = birth->error;
    control_end_order(control);
    birth->sender->job = birth->id;
    birth->sender->created = birth->created;
    if (!error && birth->created) error = control_job_name(job, birth->id);
    bool stored = !error && birth->created;
    if (stored) {
        job->pending.stored = birth->submission.state;
        control_count(control, METRIC_JOBS_SUBMITTED, 0, 1);
    } else
        take_off(job); /* the key's first job is the answer, or the error */
    control_open_stored(job, stored);
    control_answer(birth->sender, error);
    memory_free(birth);
    if (!job_site_is_open(&job->site)) control_job_keep_inputs(job);
    control_commit(job);
    control_update_status(job);
    control_job_settle(job);
}

static Error *fill_job(ControlJob *job, Submission *submission) {
    job->tenant = submission->tenant;
    job->priority = (int)submission->priority;
    job->function = submission->function;
    job->deadline = submission->deadline;
    job->asked.deadline_state = isnan(job->deadline) ? JOB_DEADLINE_NONE : JOB_DEADLINE_AHEAD;
    job->pending.epoch = submission->epoch;
    if (submission->restore) control_step_durable_taken(job, submission->restore->checkpoint);
    job->account.submitted_ns = control_now_ns(job->control);
    job->policy = submission->policy;
    submission->policy = (JobPolicy){0};
    return control_job_set_model(
        job, &submission->executable, submission->constant_bytes, submission->device_strings);
}

static Error *begin_birth(ControlJob *job, ControlRequest *request) {
    Control *control = job->control;
    const ControlStorePort *store = &control->ports.store;
    void *memory;
    TRY(memory_alloc(1, sizeof(StoreBirth), &memory));
    StoreBirth *birth = memory;
    *birth = (StoreBirth){.done = handle_birth,
        .job = job,
        .sender = request,
        .tenant = job->tenant,
        .submission = submission_row(request->submission),
        .restore = request->submission->restore};
    birth->submission.submitted = job->account.submitted; /* it may begin before it is stored */
    Error *error = store->birth(store->self, birth);
    if (error) {
        memory_free(birth);
        return error;
    }
    control_begin_order(control);
    return NULL;
}

/* Begins a transient job. Its end goes to the receiver from here on. */
static Error *begin_transient(ControlJob *job, ControlRequest *request) {
    job->pending.stored = JOB_STATE_QUEUED;
    TRY(control_job_name(job, request->job));
    job->receiver = request->receiver;
    control_open_stored(job, true);
    control_answer(request, NULL);
    control_update_status(job);
    return NULL;
}

/* Submits the job to the policy, which accepts or refuses it at once. */
static Error *ask_policy(ControlJob *job, uint64_t device, uint64_t live_bytes) {
    control_job_submit(job, POLICY_PLACE_NONE, device, live_bytes);
    control_apply_events(job->control);
    TRY(control_check(job->control));
    return job->refusal.kind == POLICY_ACTION_REFUSE ? control_fail_refused(&job->refusal) : NULL;
}

/* Makes a job from the submission's batch and arrival. */
static Error *make_job(Control *control, Submission *submission, ControlJob **out) {
    TRY(control_tell_tenant(control, submission->tenant));
    TRY(control_job_create(control, out));
    (*out)->hold.batch = TAKE(submission->batch);
    (*out)->hold.brief = submission->brief;
    control_job_take_arrival(*out, TAKE(submission->arrival));
    return NULL;
}

/* Checks the submission, asks the policy, and begins to store the job's row. */
static Error *admit(ControlJob *job, ControlRequest *request) {
    Submission *submission = request->submission;
    uint64_t device;
    TRY(fill_job(job, submission));
    TRY(control_job_find_device(job, job->policy.device, &device));
    if (submission->state == JOB_STATE_NONE) TRY(ask_policy(job, device, submission->live_bytes));
    return job->transient ? begin_transient(job, request) : begin_birth(job, request);
}

static Error *submit(Control *control, ControlRequest *request) {
    ControlJob *job;
    if (control_refuses_jobs(control))
        FAIL(UNREACHABLE, "this node is being drained and takes no jobs; submit to another one");
    TRY(make_job(control, request->submission, &job));
    job->transient = request->receiver != NULL;
    Error *error = admit(job, request);
    if (error) {
        take_off(job);
        control_open_stored(job, false);
        control_job_settle(job);
        return error;
    }
    return NULL;
}

static Error *fail_state(const char *what, const char *state) {
    FAIL(CONFLICT, "cannot %s a job that is %s", what, state);
}

/* True: the job goes into a file or to another node. */
static bool is_going(const ControlJob *job) {
    return job_goal_is_leaving(&job->asked.goal) || job_goal_is_departing(&job->asked.goal);
}

/* Tries to store the data of a stalled job now. The request is answered by that commit. */
static Error *try_to_store(ControlJob *job, ControlRequest *request) {
    TRY(control_wait_for(job, request));
    control_step_storing(job, JOB_STORING_EVENT_ASK);
    control_commit(job);
    return NULL;
}

static Error *resume_halted(ControlJob *job, ControlRequest *request) {
    TRY(control_job_find_device(job, request->device, &job->asked.resume_device));
    TRY(try_to_store(job, request));
    control_step_goal(job, JOB_GOAL_EVENT_RESUME_STALLED);
    return NULL;
}

static Error *suspend(Control *control, ControlRequest *request) {
    ControlJob *job = control_job_find(control, request->tenant, request->job);
    if (!job || job_storing_has_ended(&job->pending.storing))
        return control_fail_absent(control, request, "suspend");
    if (job->pending.stored != JOB_STATE_QUEUED)
        return fail_state("suspend", job_state_info(job->pending.stored)->name);
    if (job_storing_is_stalled(&job->pending.storing)) return try_to_store(job, request);
    TRY(control_wait_for(job, request));
    control_report(job, POLICY_EVENT_SUSPEND_REQUESTED);
    if (!job->asked.suspend_asked_ns) job->asked.suspend_asked_ns = control_now_ns(control);
    return NULL;
}

static Error *resume(Control *control, ControlRequest *request) {
    ControlJob *job;
    TRY(control_find_held(control, request, "resume", &job));
    if (is_going(job)) return fail_state("resume", job_goal_info(&job->asked.goal)->refusal);
    if (job_storing_is_stalled(&job->pending.storing)) return resume_halted(job, request);
    bool held = job->pending.stored == JOB_STATE_HELD;
    if (!(held || job->pending.stored == JOB_STATE_SUSPENDED) ||
        job->pending.next.state != JOB_STATE_NONE)
        return fail_state("resume", job->account.status.shown == JOB_SHOWN_RUNNING
                                        ? "running"
                                        : job_state_info(job->pending.stored)->name);
    TRY(control_tell_tenant(control, job->tenant)); /* its quotas may be others now */
    TRY(control_job_find_device(job, request->device, &job->asked.resume_device));
    TRY(control_wait_for(job, request));
    control_want_state(job, JOB_STATE_QUEUED,
        held ? "somebody said that it is this home's"
             : NULL); /* control_job_submit_again when it is stored */
    return NULL;
}

static Error *cancel(Control *control, ControlRequest *request) {
    ControlJob *job = control_job_find(control, request->tenant, request->job);
    if (!job || job_storing_has_ended(&job->pending.storing))
        return control_cancel_absent(control, request);
    if (is_going(job)) return fail_state("cancel", job_goal_info(&job->asked.goal)->refusal);
    if (job->pending.stored == JOB_STATE_IN_DOUBT) return fail_state("cancel", "in_doubt");
    TRY(control_wait_for(job, request));
    control_step_goal(job, JOB_GOAL_EVENT_CANCEL);
    if (job->known) {
        control_report(job, POLICY_EVENT_CANCEL_REQUESTED);
        control_give_up_move(job);
    }
    control_discard_slice(job);
    /* stored before anything has stopped: it stays so after a crash */
    control_want_state(job, JOB_STATE_CANCELLED, NULL);
    return NULL;
}

static Error *checkpoint(Control *control, ControlRequest *request) {
    ControlJob *job = control_job_find(control, request->tenant, request->job);
    if (!job || job_storing_has_ended(&job->pending.storing))
        return control_fail_absent(control, request, "checkpoint");
    if (!job_site_is_open(&job->site)) {
        if (!job_durable_has_checkpoint(&job->pending.durable))
            return fail_state("checkpoint", "not yet begun");
        control_answer(request, NULL); /* the newest one is where it is */
        return NULL;
    }
    TRY(control_wait_for(job, request));
    job->pending.checkpoint_wanted = true;
    if (job_site_is_running(&job->site))
        control_preempt_job(job);
    else if (job_site_is_busy(&job->site))
        return NULL; /* it is on its way; at the end of its next slice */
    else {           /* without one, at the end of its next slice */
        error_free(control_job_take_snapshot(job));
        job->pending.checkpoint_wanted = !pending_snapshot_is_there(&job->pending.snapshot);
        control_commit(job);
    }
    return NULL;
}

static void explain(Control *control, const ControlRequest *request) {
    ControlJob *job = control_job_find(control, request->tenant, request->job);
    request->text[0] = 0;
    if (job && !job_storing_has_ended(&job->pending.storing))
        control_explain_wait(job, request->text);
}

/* Handles a request. A request that was answered may be gone, so nothing looks at it behind this.
 */
static Error *handle(Control *control, ControlRequest *request) {
    Error *error;
    switch (request->kind) {
    case CONTROL_SUBMIT:
        return submit(control, request);
    case CONTROL_SUSPEND:
        return suspend(control, request);
    case CONTROL_RESUME:
        return resume(control, request);
    case CONTROL_CANCEL:
        return cancel(control, request);
    case CONTROL_CHECKPOINT:
        return checkpoint(control, request);
    case CONTROL_FREEZE:
    case CONTROL_RELEASE:
    case CONTROL_THAW:
        return control_handle_release(control, request);
    case CONTROL_MIGRATION_STOP:
    case CONTROL_MIGRATION_COMMIT:
    case CONTROL_MIGRATION_REVERT:
    case CONTROL_ARRIVAL_OWN:
    case CONTROL_ARRIVAL_ABORT:
        return control_handle_migration(control, request);
    case CONTROL_LOAD:
        error = control_load_row(control, request->tenant, request->job);
        if (error) return error;
        control_count(control, METRIC_JOBS_SUBMITTED, 0, 1);
        control_answer(request, NULL);
        return NULL;
    case CONTROL_QUOTAS: /* of a tenant that never had a job the policy learns with its first */
        if (control_find_tenant(control, request->tenant))
            TRY(control_tell_tenant(control, request->tenant));
        control_answer(request, NULL);
        return NULL;
    case CONTROL_PLACE:
        TRY(control_check_place(control, request->tenant));
        control_answer(request, NULL);
        return NULL;
    case CONTROL_EXPLAIN:
        explain(control, request);
        control_answer(request, NULL);
        return NULL;
    case CONTROL_DRAIN:
        control_begin_drain(control, request);
        return NULL;
    }
    FAIL(INTERNAL, "request %d", (int)request->kind);
}

void control_handle_request(void *context, Message *message) {
    Control *control = context;
    ControlRequest *request = (ControlRequest *)message;
    Error *error = NULL;
    if (!control_life_takes_requests(&control->life)) {
        error = control_check(control);
        if (!error)
            error = error_make(ERROR_UNREACHABLE, __FILE__, __LINE__, "the daemon is ending");
    } else
        error = handle(control, request);
    if (error) control_answer(request, error);
}
