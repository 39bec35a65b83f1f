#include "scheduler/control/jobs/job_reports.h"

#include <math.h>

#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/job_models.h"
#include "scheduler/control/state/policy_driver.h"

void control_report(ControlJob *job, PolicyEventKind kind) {
    control_post_event(job->control, (PolicyEvent){.kind = kind, .job = job->number.low});
}

void control_report_known(ControlJob *job, PolicyEventKind kind) {
    if (job->known) control_report(job, kind);
}

void control_report_moved(ControlJob *job, PolicyEventKind kind, bool worked) {
    control_post_event(
        job->control, (PolicyEvent){.kind = kind, .job = job->number.low, .worked = worked});
}

/* The job's deadline on the monotonic clock; 0: none. */
static uint64_t deadline_ns(const ControlJob *job) {
    const Control *control = job->control;
    if (job->asked.deadline_state != JOB_DEADLINE_AHEAD) return 0;
    double left = job->deadline - control_calendar_s(control);
    if (left > 1e9) return 0; /* thirty years: as good as none */
    uint64_t now_ns = control_now_ns(control);
    return left > 0 ? now_ns + (uint64_t)(left * 1e9) : now_ns;
}

/* Posts the time that the job will take, if the job has a deadline and jobs of its kind have ended.
 */
static void estimate(ControlJob *job) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    ExecutorInputs inputs;
    if (isnan(job->deadline) || !executor->find_inputs(executor->self, &job->hold, &inputs)) return;
    uint64_t expected_ns = control_expect_run(job, inputs.item_count);
    if (!expected_ns) return;
    if (expected_ns > POLICY_TIME_MAX) expected_ns = POLICY_TIME_MAX;
    control_post_event(job->control, (PolicyEvent){.kind = POLICY_EVENT_JOB_ESTIMATED,
                                         .job = job->number.low,
                                         .device_time_ns = expected_ns});
}

void control_job_submit(ControlJob *job, PolicyPlace place, uint64_t device, uint64_t live_bytes) {
    job->demanded = device;
    control_post_event(job->control, (PolicyEvent){.kind = POLICY_EVENT_JOB_SUBMITTED,
                                         .job = job->number.low,
                                         .tenant = (uint64_t)job->tenant,
                                         .model = job->model->key.low,
                                         .class_ = (uint64_t)job->priority,
                                         .weight = job->policy.weight,
                                         .deadline_ns = deadline_ns(job),
                                         .device = device,
                                         .constant_bytes = job->model->constant_bytes,
                                         .bytes = live_bytes,
                                         .place = (uint64_t)place});
    estimate(job);
}

void control_job_submit_again(ControlJob *job) {
    job->demanded = job->asked.resume_device;
    if (job->known)
        control_post_event(job->control, (PolicyEvent){.kind = POLICY_EVENT_RESUME_REQUESTED,
                                             .job = job->number.low,
                                             .device = job->asked.resume_device});
    else
        control_job_submit(job,
            job_durable_has_checkpoint(&job->pending.durable) ? POLICY_PLACE_DISK
                                                              : POLICY_PLACE_NONE,
            job->asked.resume_device, 0);
}

/* ---- moves to disk that fail ---- */

void control_fail_move(ControlJob *job) {
    control_step_site(job, JOB_SITE_EVENT_MOVE_FAILED);
    control_report_moved(job, POLICY_EVENT_MOVED_OUT, false);
}

void control_give_up_move(ControlJob *job) {
    /* the commit under way may be the move's: its end says what became of the move */
    if (job->pending.storing.state == JOB_STORING_STALLED &&
        job_site_is_leaving_to_disk(&job->site))
        control_fail_move(job);
}

void control_leave_policy(ControlJob *job) {
    if (job->known && job_site_is_leaving_to_disk(&job->site)) control_fail_move(job);
}
