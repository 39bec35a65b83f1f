#include "scheduler/control/slices/control_slice_end.h"

#include "base/container_of.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_receivers.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/slices/control_moves.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/device_table.h"

void control_fail_job(ControlJob *job, Error *owned_error) {
    control_want_state(job, JOB_STATE_FAILED, error_message(owned_error));
    if (job->transient && !job->failure)
        job->failure = owned_error;
    else
        error_free(owned_error);
}

/* Takes a snapshot at the safepoint where the slice ended, if a checkpoint is due or wanted. */
static void take_snapshot(ControlJob *job) {
    if (job->transient) return;
    uint64_t now_ns = control_now_ns(job->control);
    bool due = job->pending.checkpoint_due_ns && now_ns >= job->pending.checkpoint_due_ns;
    if (!due && !job->pending.checkpoint_wanted && !control_life_drains(&job->control->life))
        return;
    error_free(control_job_take_snapshot(job)); /* tried again at the next slice's end */
    if (pending_snapshot_is_there(&job->pending.snapshot)) job->pending.checkpoint_wanted = false;
    if (due) job->pending.checkpoint_due_ns = now_ns + job->policy.checkpoint_every_ns;
}

uint64_t control_suspend_due_ns(const ControlJob *job) {
    return job->asked.suspend_due_ns == JOB_SUSPEND_PASSED ? 0 : job->asked.suspend_due_ns;
}

void control_suspend_due(ControlJob *job) {
    job->asked.suspend_due_ns = JOB_SUSPEND_PASSED;
    control_report(job, POLICY_EVENT_SUSPEND_REQUESTED);
}

/* Between the worker's two looks at the clock: the way to this thread and back, and its decision.
 */
static void note_slice(ControlJob *job) {
    ControlDevice *device = &job->control->devices->items[job->site.device];
    const WorkerSlice *slice = &job->hold.slice;
    control_observe(
        job->control, METRIC_SWITCH_SECONDS, job->account.switched_from_ns, slice->start_ns);
    if (job->control->options.metrics)
        metrics_observe_of(job->control->options.metrics, METRIC_SLICE_SECONDS, device->facts.name,
            slice->device_time_ns);
    device->slice.last_end_ns = slice->start_ns + slice->device_time_ns;
    device->slice.last = job;
}

/* The device was lost during the slice. The policy learns that from the loss of the device. */
static void lose_slice(ControlJob *job) {
    control_leave_device(job, control_slice_ns(job));
    error_free(job->hold.slice.error);
    job->hold.slice.error = NULL;
    control_lose_device(job->control, job->site.device);
    control_update_status(job);
}

/* Takes outputs, progress and counters of the slice, which are valid even if the slice failed. */
static void take_results(ControlJob *job) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    control_take_outputs(job);
    job->slice.items_done = executor->items_done(executor->self, &job->hold);
    job->slice.counters = executor->get_counters(executor->self, &job->hold);
    /* told before the slice's end, so that no other one begins between them */
    if (!job->hold.slice.error && job->hold.slice.result.outcome == JOB_RUN_SUSPENDED)
        control_suspend_due(job);
}

/* True: the outputs of the job's slice are dropped. */
static bool is_unwanted(const ControlJob *job) {
    return job_goal_info(&job->asked.goal)->discards_slice ||
           job_storing_has_ended(&job->pending.storing);
}

/* The policy learns that the slice failed, if it did, when it runs the job again. */
static void end_aside(ControlJob *job) {
    take_results(job);
    const AsideEnd end = control_end_aside(job);
    if (end == ASIDE_TO_HOST) control_move_out(job, job->site.device, POLICY_PLACE_HOST);
    if (end == ASIDE_TO_DISK) control_move_out(job, job->site.device, POLICY_PLACE_DISK);
    if (!is_unwanted(job) && !job_storing_is_new(&job->pending.storing) &&
        job->site.state == JOB_SITE_RESTING)
        take_snapshot(job);
    control_commit(job);
    control_update_status(job);
    control_job_settle(job);
}

/* Ends the slice of a job that is cancelled or has ended. The slice's error does not matter: the
 * kernel may have been abandoned. */
static void end_cancelled(ControlJob *job) {
    control_outputs_deinit(&job->hold.outputs);
    if (error_code(job->hold.slice.error) == ERROR_DEVICE_LOST) {
        lose_slice(job);
        control_job_settle(job);
        return;
    }
    error_free(job->hold.slice.error);
    job->hold.slice.error = NULL;
    control_end_slice(job, POLICY_OUTCOME_SLICE_ENDED, control_slice_ns(job), 0);
    control_update_status(job);
    control_job_settle(job);
}

void control_handle_slice_ended(void *context, Message *message) {
    (void)context;
    ControlJob *job = CONTAINER_OF(message, ControlJob, hold.slice_ended);
    WorkerSlice *slice = &job->hold.slice;
    if (job_site_is_aside(&job->site)) {
        end_aside(job);
        return;
    }
    control_step_site(job, JOB_SITE_EVENT_SLICE_ENDED);
    if (is_unwanted(job)) {
        note_slice(job);
        end_cancelled(job);
        return;
    }
    bool needs_memory = !slice->error && slice->result.outcome == JOB_RUN_NEEDS_MEMORY;
    bool finished = !slice->error && slice->result.outcome == JOB_RUN_FINISHED;
    control_count(job->control, METRIC_SLICES, 0, 1);
    note_slice(job);
    take_results(job);
    if (error_code(slice->error) == ERROR_DEVICE_LOST) {
        lose_slice(job);
        return;
    }
    job->slice.blocked =
        !slice->error && !finished && !needs_memory && control_job_has_many_outputs(job);
    control_end_slice(job,
        slice->error         ? POLICY_OUTCOME_FAILED
        : finished           ? POLICY_OUTCOME_FINISHED
        : needs_memory       ? POLICY_OUTCOME_NEEDS_MEMORY
        : job->slice.blocked ? POLICY_OUTCOME_BLOCKED
                             : POLICY_OUTCOME_SLICE_ENDED,
        control_slice_ns(job), needs_memory ? slice->result.bytes : 0);
    if (slice->error || finished) job->known = false;
    if (slice->error)
        control_fail_job(job, slice->error);
    else if (finished) {
        control_account_run(job);
        control_want_state(job, JOB_STATE_SUCCEEDED, NULL);
    } else
        take_snapshot(job);
    slice->error = NULL;
    control_commit(job);
    control_update_status(job);
    control_job_settle(job);
}
