#include "scheduler/control/requests/control_releasing.h"

#include "base/allocator.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/requests/control_recovery.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_steps.h"

static Error *hold(ControlJob *job, ControlRequest *request) {
    bool suspended =
        job->pending.stored == JOB_STATE_SUSPENDED && job->pending.next.state == JOB_STATE_NONE;
    if (job_goal_is_leaving(&job->asked.goal))
        FAIL(CONFLICT, "cannot release a job that is being released");
    if (!suspended || job_storing_is_committing(&job->pending.storing) ||
        !job_goal_allows(&job->asked.goal, JOB_GOAL_EVENT_FREEZE))
        FAIL(CONFLICT, "cannot release a job that is %s: it was resumed meanwhile",
            job->account.status.shown == JOB_SHOWN_RUNNING
                ? "running"
                : job_state_info(job->pending.stored)->name);
    control_step_goal(job, JOB_GOAL_EVENT_FREEZE);
    memory_free(job->asked.halt_why); /* it is suspended, and stays so */
    job->asked.halt_why = NULL;
    control_answer(request, NULL);
    return NULL;
}

/* Releases the job. A job that the policy knows is forgotten by the policy first; control_leave
 * then stores the release. */
static Error *release(ControlJob *job, ControlRequest *request) {
    TRY(control_wait_for(job, request));
    control_step_goal(job, JOB_GOAL_EVENT_RELEASE);
    if (job->known)
        control_report(job, POLICY_EVENT_CANCEL_REQUESTED);
    else
        control_want_state(job, JOB_STATE_RELEASED, NULL);
    return NULL;
}

Error *control_handle_release(Control *control, ControlRequest *request) {
    ControlJob *job = control_job_find(control, request->tenant, request->job);
    if (!job || job_storing_has_ended(&job->pending.storing))
        return control_fail_absent(control, request, "release");
    if (request->kind == CONTROL_FREEZE) return hold(job, request);
    if (!job_goal_is_leaving(&job->asked.goal))
        FAIL(CONFLICT, "the job is not on its way into a file");
    if (request->kind == CONTROL_RELEASE) return release(job, request);
    if (!job_goal_allows(&job->asked.goal, JOB_GOAL_EVENT_THAW))
        FAIL(CONFLICT, "the job's file owns the job already; restore the job from that file");
    control_step_goal(job, JOB_GOAL_EVENT_THAW);
    control_answer(request, NULL);
    return NULL;
}
