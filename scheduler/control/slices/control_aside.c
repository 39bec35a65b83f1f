#include "scheduler/control/slices/control_aside.h"

#include "base/container_of.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/device_table.h"

/* Slices that do not give their device back when they are asked to: their kernel takes long. The
 * kernel pauses where it is, or runs on for a moment if it does not look at the stop; either way
 * the slice is set aside with its thread. For the policy it is over, and the device another job's.
 *
 *   running --(asked to end, a kernel pauses or GIVE_UP_NS are over)--> aside --RUN--> running
 *                                                                         |
 *                                MOVE_OUT: the kernel is abandoned, the slice ends, the job moves
 *
 * Nothing of a job that is aside may be touched: its thread may be anywhere. */

/* Whom others' memory displaces loses what its kernel did. It may run on for so long beside them
 * first, each time twice as long, so that it comes to an end some time. */
static const uint64_t PATIENCE_NS = 200000000, PATIENCE_NS_MAX = 60000000000;

static void set_aside(ControlJob *job) {
    Control *control = job->control;
    const uint64_t now_ns = control_now_ns(job->control);
    control->ports.executor.set_aside(control->ports.executor.self, job->site.device);
    control_step_site(job, JOB_SITE_EVENT_SET_ASIDE);
    control->devices->aside_count++;
    control_begin_use(control, job->site.device);
    control_end_slice(job, POLICY_OUTCOME_SLICE_ENDED, now_ns - job->slice.resumed_ns, 0);
    job->slice.resumed_ns = now_ns;
    control_count(control, METRIC_SLICES_SET_ASIDE, 0, 1);
    control_update_status(job);
}

static void lose_patience(ControlJob *job) {
    if (job->slice.abandon_ns) job->control->devices->patience_count--;
    job->slice.abandon_ns = 0;
}

static void take_back(ControlJob *job, JobSiteEvent event) {
    control_step_site(job, event);
    lose_patience(job);
    job->control->devices->aside_count--;
    control_end_use(job->control, job->site.device);
}

static void handle_paused(void *context, Message *message) {
    (void)context;
    ControlJob *job = CONTAINER_OF(message, ControlJob, hold.paused);
    atomic_store(&job->hold.pause_told, false);
    if (job->site.state == JOB_SITE_RUNNING) set_aside(job);
}

void control_watch_pauses(ControlJob *job) { job->hold.paused.handle = handle_paused; }

void control_run_aside(ControlJob *job, uint64_t budget_ns) {
    take_back(job, JOB_SITE_EVENT_RUN_BEGINS);
    control_give_device(job, budget_ns);
    job->control->devices->items[job->site.device].slice.give_up_ns = 0;
    control_request_slice(job, EXECUTOR_RESUME, 0);
    control_update_status(job);
}

void control_move_aside_out(ControlJob *job, PolicyPlace place) {
    control_step_site(job,
        place == POLICY_PLACE_HOST ? JOB_SITE_EVENT_LEAVE_TO_HOST : JOB_SITE_EVENT_LEAVE_TO_DISK);
    if (job->asked.suspend_asked_ns || job->pending.checkpoint_wanted ||
        place == POLICY_PLACE_DISK) {
        control_request_slice(job, EXECUTOR_ABANDON, 0);
        return;
    }
    uint64_t patience_ns = PATIENCE_NS
                           << (job->slice.abandonments < 16 ? job->slice.abandonments : 16);
    if (patience_ns > PATIENCE_NS_MAX) patience_ns = PATIENCE_NS_MAX;
    job->slice.abandonments++;
    job->control->devices->patience_count++;
    job->slice.abandon_ns = control_now_ns(job->control) + patience_ns;
    control_request_slice(job, EXECUTOR_RESUME, 0);
}

/* The slice's error is kept until the policy runs the job. It is dropped if the device is lost, the
 * job has ended or is cancelled, or the policy does not know the job. */
AsideEnd control_end_aside(ControlJob *job) {
    const uint8_t was = job->site.state;
    WorkerSlice *slice = &job->hold.slice;
    if (error_code(slice->error) == ERROR_DEVICE_LOST)
        control_lose_device(job->control, job->site.device);
    const bool failed = slice->error && error_code(slice->error) != ERROR_DEVICE_LOST;
    if (slice->error && (!failed || job_goal_info(&job->asked.goal)->discards_slice ||
                            job_storing_has_ended(&job->pending.storing) || !job->known)) {
        error_free(slice->error);
        slice->error = NULL;
    }
    take_back(job, slice->error ? JOB_SITE_EVENT_SLICE_FAILED : JOB_SITE_EVENT_SLICE_ENDED);
    if (was == JOB_SITE_ASIDE) return ASIDE_RESTS;
    if (slice->error) control_report_moved(job, POLICY_EVENT_MOVED_OUT, false);
    if (slice->error || !job->known) return ASIDE_RESTS;
    return was == JOB_SITE_ASIDE_TO_HOST ? ASIDE_TO_HOST : ASIDE_TO_DISK;
}

bool control_run_failed(ControlJob *job) {
    if (job->site.state != JOB_SITE_FAILED_ASIDE) return false;
    control_step_site(job, JOB_SITE_EVENT_RUN_BEGINS);
    job->hold.slice.start_ns = job->slice.resumed_ns = control_now_ns(job->control);
    job->hold.slice.device_time_ns = 0;
    control_lock(job->control);
    job->control->devices->items[job->site.device].slice.running = job;
    control_unlock(job->control);
    control_post(job->control, &job->hold.slice_ended);
    return true;
}

uint64_t control_aside_due_ns(const Control *control) {
    uint64_t due_ns = 0;
    for (uint32_t i = 0; i < control->devices->count; i++)
        if (control->devices->items[i].slice.running)
            due_ns = control_earlier_ns(control->devices->items[i].slice.give_up_ns, due_ns);
    size_t at = 0;
    for (ControlJob *job;
         control->devices->patience_count > 0 && (job = control_jobs_next(control, &at));) {
        if (job_site_is_aside(&job->site))
            due_ns = control_earlier_ns(job->slice.abandon_ns, due_ns);
    }
    return due_ns;
}

void control_set_due_aside(Control *control, uint64_t now_ns) {
    for (uint32_t i = 0; i < control->devices->count; i++) {
        ControlDevice *device = &control->devices->items[i];
        if (!device->slice.running || !device->slice.give_up_ns ||
            now_ns < device->slice.give_up_ns)
            continue;
        device->slice.give_up_ns = 0;
        set_aside(device->slice.running);
    }
    size_t at = 0;
    for (ControlJob *job;
         control->devices->patience_count > 0 && (job = control_jobs_next(control, &at));) {
        if (!job_site_is_aside(&job->site)) continue;
        if (!job->slice.abandon_ns || now_ns < job->slice.abandon_ns) continue;
        lose_patience(job);
        control_request_slice(job, EXECUTOR_ABANDON, 0);
    }
}
