#include "scheduler/control/requests/control_migration.h"

#include <stdio.h>

#include "scheduler/control/devices/control_place.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/requests/control_recovery.h"
#include "scheduler/control/slices/control_decisions.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/control_tenants.h"

static JobState state_back(bool suspended) {
    return suspended ? JOB_STATE_SUSPENDED : JOB_STATE_QUEUED;
}

static void want_held(ControlJob *job) {
    control_want_state(job, JOB_STATE_HELD, job->asked.depart_why);
}

static Error *fail_state(const ControlJob *job, const char *what) {
    FAIL(CONFLICT, "cannot %s a job that is %s", what,
        job_goal_is_leaving(&job->asked.goal)           ? "being released"
        : job->asked.goal.state == JOB_GOAL_CANCELLING  ? "being cancelled"
        : job_storing_is_stalled(&job->pending.storing) ? "waiting until its data can be stored"
        : job->account.status.shown == JOB_SHOWN_RUNNING
            ? "running"
            : job_state_info(job->pending.stored)->name);
}

static void set_why(ControlJob *job, const char *why) {
    (void)snprintf(job->asked.depart_why, sizeof job->asked.depart_why, "%s", why ? why : "");
}

static bool rests(const ControlJob *job, JobState state) {
    return job->pending.stored == state && job->pending.next.state == JOB_STATE_NONE &&
           !job_storing_is_committing(&job->pending.storing);
}

static Error *stop(ControlJob *job, ControlRequest *request) {
    bool suspended = rests(job, JOB_STATE_SUSPENDED);
    if (!job_goal_allows(&job->asked.goal, JOB_GOAL_EVENT_DEPART) ||
        job_storing_is_stalled(&job->pending.storing) ||
        !(suspended || job->pending.stored == JOB_STATE_QUEUED))
        return fail_state(job, "migrate");
    TRY(control_wait_for(job, request));
    control_step_goal(job, JOB_GOAL_EVENT_DEPART);
    set_why(job, request->why);
    if (suspended)
        want_held(job);
    else
        control_report(job, POLICY_EVENT_SUSPEND_REQUESTED);
    return NULL;
}

/* Gives the job to another node. A job that the policy knows is forgotten by the policy first. */
static Error *give(ControlJob *job, ControlRequest *request) {
    if (!job_goal_allows(&job->asked.goal, JOB_GOAL_EVENT_TRANSFER) ||
        job->pending.stored == JOB_STATE_IN_DOUBT)
        return fail_state(job, "give");
    TRY(control_wait_for(job, request));
    control_step_goal(job, JOB_GOAL_EVENT_TRANSFER);
    set_why(job, request->why);
    if (job->known)
        control_report(job, POLICY_EVENT_CANCEL_REQUESTED);
    else
        control_leave(job);
    return NULL;
}

/* False: no device here can run the job. The job is suspended, and the request waits for that. */
static bool place(ControlJob *job, ControlRequest *request) {
    if (control_job_place(job, job->policy.device, &job->asked.resume_device)) return true;
    request->suspended = true;
    return false;
}

/* A job that could not be held for want of room is suspended by now, or will be: as every job
 * whose data cannot be stored. */
static Error *take_back(ControlJob *job, ControlRequest *request) {
    if (!job_goal_allows(&job->asked.goal, JOB_GOAL_EVENT_RETAIN))
        return fail_state(job, "take back");
    control_step_goal(job, JOB_GOAL_EVENT_RETAIN);
    if (job->pending.next.state == JOB_STATE_HELD) job->pending.next.state = JOB_STATE_SUSPENDED;
    if (!rests(job, JOB_STATE_HELD)) return fail_state(job, "take back");
    TRY(control_wait_for(job, request));
    job->asked.resume_device = job->demanded;
    /* since a restart; the device may be gone, then any will do */
    if (!job->known && !place(job, request)) return NULL;
    control_want_state(job, state_back(request->suspended), request->why);
    return NULL;
}

/* The job may demand a device that does not exist here; then it may have any. */
static Error *own(ControlJob *job, ControlRequest *request) {
    Control *control = job->control;
    if (!rests(job, JOB_STATE_IN_DOUBT)) return fail_state(job, "own");
    TRY(control_tell_tenant(control, job->tenant));
    TRY(control_wait_for(job, request));
    job->pending.next.epoch = request->epoch;
    if (!place(job, request)) return NULL;
    control_want_state(job, state_back(request->suspended), request->why);
    return NULL;
}

static Error *abort_arrival(ControlJob *job, ControlRequest *request) {
    if (!rests(job, JOB_STATE_IN_DOUBT)) return fail_state(job, "drop");
    control_step_storing(job, JOB_STORING_EVENT_FORGET);
    control_answer(request, NULL);
    control_job_settle(job);
    return NULL;
}

Error *control_handle_migration(Control *control, ControlRequest *request) {
    ControlJob *job = control_job_find(control, request->tenant, request->job);
    if (!job || job_storing_has_ended(&job->pending.storing))
        return control_fail_absent(control, request, "migrate");
    switch ((int)request->kind) {
    case CONTROL_MIGRATION_STOP:
        return stop(job, request);
    case CONTROL_MIGRATION_COMMIT:
        return give(job, request);
    case CONTROL_MIGRATION_REVERT:
        return take_back(job, request);
    case CONTROL_ARRIVAL_OWN:
        return own(job, request);
    default:
        return abort_arrival(job, request);
    }
}
