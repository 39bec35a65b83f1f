#include "scheduler/control/slices/control_slices.h"

#include <math.h>

#include "base/allocator.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/slices/control_arrival.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/slices/control_moves.h"
#include "scheduler/control/slices/control_slice_end.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/device_table.h"

static void begin_slice(ControlJob *job) {
    Control *control = job->control;
    const ControlDevice *device = &control->devices->items[job->site.device];
    job->hold.slice_ended.handle = control_handle_slice_ended;
    control_watch_pauses(job);
    control_give_device(job, job->slice.budget_ns);
    const uint64_t now_ns = job->slice.resumed_ns;
    if (!job->pending.checkpoint_due_ns && job->policy.checkpoint_every_ns)
        job->pending.checkpoint_due_ns = now_ns + job->policy.checkpoint_every_ns;
    if (!job->asked.suspend_due_ns && job->policy.suspend_after_ns)
        job->asked.suspend_due_ns = now_ns + job->policy.suspend_after_ns;
    if (isnan(job->account.started)) { /* its first slice ever */
        job->account.started = control_calendar_s(control);
        job->account.started_ns = now_ns;
        control_observe(control, METRIC_START_SECONDS, job->account.submitted_ns, now_ns);
    }
    control_observe(control, METRIC_RESUME_SECONDS, job->account.move_in_ns, now_ns);
    job->account.move_in_ns = 0;
    control_tell_running(job);
    job->account.switched_from_ns = device->slice.last != job ? device->slice.last_end_ns : 0;
    job->slice.lent = control->ports.executor.run(
        control->ports.executor.self, &job->hold, job->site.device, job->slice.grant_bytes);
    if (job->slice.lent) control_shorten_slice(job, EXECUTOR_LENT_NS);
    control_update_status(job);
}

/* A job that could not be opened for its slice has failed; its inputs and model were checked when
 * it was taken in. */
static void opened(ControlJob *job, Error *owned_error) {
    const Control *control = job->control;
    const bool gone =
        job->site.state == JOB_SITE_OPENING_RECALLED || !control_life_decides(&control->life);
    const bool lost = control_device_is_lost(control, job->site.device) &&
                      (!owned_error || error_code(owned_error) == ERROR_DEVICE_LOST);
    control_step_site(job, owned_error    ? JOB_SITE_EVENT_OPEN_FAILED
                           : gone || lost ? JOB_SITE_EVENT_OPENED_UNUSED
                                          : JOB_SITE_EVENT_OPENED);
    if (lost) {
        error_free(owned_error);
        return;
    }
    if (!owned_error && !gone) {
        begin_slice(job);
        return;
    }
    if (owned_error) job->known = false;
    if (owned_error) control_fail_job(job, owned_error);
    control_end_slice(job, owned_error ? POLICY_OUTCOME_FAILED : POLICY_OUTCOME_SLICE_ENDED, 0, 0);
    control_commit(job);
}

static void handle_opened(Control *control, ExecutorTask *task) {
    ControlJob *job = task->job;
    control_end_task(control, task);
    if (task->error)
        control_job_close(job);
    else
        control_note_moved(job, task);
    opened(job, TAKE(task->error));
    memory_free(task);
    control_update_status(job);
    control_job_settle(job);
}

static void begin_opening(ControlJob *job) {
    ExecutorTask task = control_job_task(job, EXECUTOR_OPEN, job->site.device);
    task.done = handle_opened;
    control_begin_task(job->control, task);
}

/* True: nothing of a run of the job was ever stored. */
static bool is_fresh(const ControlJob *job) {
    return job->pending.durable.state == JOB_DURABLE_INPUTS;
}

/* A job that has just come, of a model that is there already: nothing has to be read. False: an I/O
 * thread is to do it. */
static bool open_at_once(ControlJob *job, uint32_t device) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    if (!is_fresh(job)) return false;
    const ExecutorTask task = control_job_task(job, EXECUTOR_OPEN, device);
    return executor->open_at_once(executor->self, &task);
}

static bool has_inputs(const ControlJob *job) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    ExecutorInputs inputs;
    return executor->find_inputs(executor->self, &job->hold, &inputs);
}

void control_run_job(ControlJob *job, uint32_t device, uint64_t budget_ns) {
    (void)control_job_close_arrival(job, device);
    job->site.device = device;
    control_job_count_out(job);
    job->slice.budget_ns = budget_ns;
    if (job_storing_has_ended(
            &job->pending.storing)) { /* the policy hears of that behind this decision */
        control_end_slice(job, POLICY_OUTCOME_SLICE_ENDED, 0, 0);
        return;
    }
    if (job_site_is_aside(&job->site)) {
        control_run_aside(job, budget_ns);
        return;
    }
    if (control_run_failed(job)) return;
    if (job_site_is_open(&job->site) || open_at_once(job, device)) {
        control_step_site(job, JOB_SITE_EVENT_RUN_BEGINS);
        begin_slice(job);
    } else if (!(is_fresh(job) && has_inputs(job)) && job_storing_is_new(&job->pending.storing))
        control_step_site(job, JOB_SITE_EVENT_RUN_WAITS);
    else {
        control_step_site(job, JOB_SITE_EVENT_RUN_OPENS);
        begin_opening(job);
    }
}

void control_open_stored(ControlJob *job, bool stored) {
    const bool waits = job->site.state == JOB_SITE_AWAITING_ROW ||
                       job->site.state == JOB_SITE_AWAITING_ROW_RECALLED;
    if (stored && job_durable_has_checkpoint(&job->pending.durable) && job->known)
        control_report(job, POLICY_EVENT_CHECKPOINTED);
    if (!waits) return;
    control_step_site(job, stored ? JOB_SITE_EVENT_ROW_STORED : JOB_SITE_EVENT_ROW_REFUSED);
    if (stored)
        begin_opening(job);
    else
        control_end_slice(job, POLICY_OUTCOME_SLICE_ENDED, 0, 0);
}

void control_preempt_job(ControlJob *job) {
    if (job->site.state == JOB_SITE_RUNNING)
        control_ask_for_device(job);
    else if (job_site_is_running(&job->site))
        control_step_site(job, JOB_SITE_EVENT_RECALL);
}

void control_end_due_slices(Control *control, uint64_t now_ns) {
    for (uint32_t i = 0; i < control->devices->count; i++) {
        ControlDevice *device = &control->devices->items[i];
        ControlJob *job = device->slice.running;
        if (job && control_suspend_due_ns(job) && now_ns >= job->asked.suspend_due_ns)
            control_suspend_due(job);
        if (!device->slice.end_ns || now_ns < device->slice.end_ns) continue;
        device->slice.end_ns = 0;
        if (device->slice.running) control_ask_for_device(device->slice.running);
    }
}

uint64_t control_slices_due_ns(const Control *control) {
    uint64_t due_ns = 0;
    for (uint32_t i = 0; i < control->devices->count; i++) {
        const DeviceSlice *slice = &control->devices->items[i].slice;
        due_ns = control_earlier_ns(slice->end_ns, due_ns);
        if (slice->running)
            due_ns = control_earlier_ns(control_suspend_due_ns(slice->running), due_ns);
    }
    return due_ns;
}
