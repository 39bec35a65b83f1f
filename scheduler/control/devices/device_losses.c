#include "scheduler/control/devices/device_losses.h"

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/slices/control_slice_end.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/policy_driver.h"

/* Drops the job's snapshot. Requests that wait for its checkpoint get the next one. */
static void lose_snapshot(ControlJob *job) {
    if (pending_snapshot_is_there(&job->pending.snapshot)) job->pending.checkpoint_wanted = true;
    control_job_drop_snapshot(job);
}

/* Ends a transient job whose run is lost: its inputs were used up by the run. */
static void lose(ControlJob *job) {
    if (job_storing_has_ended(&job->pending.storing) || job->pending.next.state != JOB_STATE_NONE)
        return;
    if (job_storing_is_committing(&job->pending.storing)) return; /* its end */
    control_report(job, POLICY_EVENT_CANCEL_REQUESTED);
    control_step_goal(job, JOB_GOAL_EVENT_GIVE_UP);
    control_fail_job(job, error_make(ERROR_DEVICE_LOST, __FILE__, __LINE__,
                              "the device was lost while the function ran"));
}

/* The job loses its run, as after a crash, and goes on from what is stored of it. A job that has
 * ended keeps its outputs. */
static void throw_back(ControlJob *job) {
    bool begun = job_site_is_open(&job->site);
    if (job->site.state == JOB_SITE_FAILED_ASIDE) error_free(TAKE(job->hold.slice.error));
    control_step_site(job, JOB_SITE_EVENT_DEVICE_LOST);
    if (begun) control_job_close(job);
    if (begun && job->known && job->transient)
        lose(job);
    else if (begun && job->known) {
        control_outputs_deinit(&job->pending.outputs);
        lose_snapshot(job);
        control_set_waiting(job, "", NULL);
        control_step_durable(job, JOB_DURABLE_EVENT_RUN_LOST);
        job->slice.blocked = false;
        if (job->pending.storing.state == JOB_STORING_STALLED)
            control_step_storing(job, JOB_STORING_EVENT_DROP);
        job->account.told_device = 0;
        control_tell(job, JOB_EVENT_NOTE,
            job_durable_has_checkpoint(&job->pending.durable)
                ? "its device was lost; it goes on from its checkpoint"
                : "its device was lost; it begins again");
        control_commit(job);
    }
    control_update_status(job);
    control_job_settle(job);
}

/* A job on the device; NULL: there is none. */
static ControlJob *find_on(const Control *control, uint32_t index) {
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));)
        if (job_site_is_on(&job->site, index)) return job;
    return NULL;
}

/* True: nothing uses the device but jobs that rest on it. */
static bool is_quiet(const Control *control, uint32_t index) {
    const ControlDevice *device = &control->devices->items[index];
    if (device->slice.running || device->in_flight > 0) return false;
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (job_site_is_on(&job->site, index) && job_storing_is_committing(&job->pending.storing))
            return false; /* its outputs come first */
    }
    return true;
}

/* Plans when the device is opened again: later, if it was lost often. */
static void plan_reopening(Control *control, ControlDevice *device, uint64_t now_ns) {
    const ControlOptions *options = &control->options;
    uint64_t pause_ns = options->reopen_pause_ns ? options->reopen_pause_ns : SECOND_NS;
    uint64_t window_ns = options->loss_window_ns ? options->loss_window_ns : 60 * SECOND_NS;
    device->losses_ns[device->loss_count++ % CONTROL_LOSSES_MAX] = now_ns;
    device->reopen_ns = now_ns + pause_ns;
    if (device->loss_count < CONTROL_LOSSES_MAX) return;
    uint64_t first_ns = device->losses_ns[device->loss_count % CONTROL_LOSSES_MAX];
    if (device->reopen_ns < first_ns + window_ns) device->reopen_ns = first_ns + window_ns;
}

static void bring_back(Control *control, ControlDevice *device, uint64_t bytes) {
    control_step_presence(control, device, DEVICE_PRESENCE_EVENT_OPENED);
    control_tell_device_added(control, (uint32_t)(device - control->devices->items), bytes);
    control_warn_of_device(control, device, "is back");
}

static void handle_changed(Control *control, ExecutorTask *task) {
    ControlDevice *device = &control->devices->items[task->device];
    control_end_order(control);
    if (task->kind == EXECUTOR_CLOSE_DEVICE)
        control_step_presence(control, device, DEVICE_PRESENCE_EVENT_CLOSED);
    else if (task->error) {
        control_step_presence(control, device, DEVICE_PRESENCE_EVENT_OPEN_FAILED);
        plan_reopening(control, device, control_now_ns(control));
    } else
        bring_back(control, device, task->device_bytes);
    error_free(task->error); /* it is tried again */
    memory_free(task);
}

/* Closes or opens the device on an I/O thread, since a driver may take seconds. */
static void change(Control *control, ControlDevice *device, ExecutorTaskKind kind) {
    control_step_presence(control, device,
        kind == EXECUTOR_CLOSE_DEVICE ? DEVICE_PRESENCE_EVENT_QUIET : DEVICE_PRESENCE_EVENT_DUE);
    control_post_task(control, (ExecutorTask){.done = handle_changed,
                                   .kind = kind,
                                   .device = (uint32_t)(device - control->devices->items)});
}

static void take_away(Control *control, uint32_t index, uint64_t now_ns) {
    ControlDevice *device = &control->devices->items[index];
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (job->pending.snapshot.where == index + 1) lose_snapshot(job);
    }
    for (ControlJob *job; (job = find_on(control, index));) throw_back(job);
    control->ports.executor.evict_all(control->ports.executor.self, index);
    change(control, device, EXECUTOR_CLOSE_DEVICE);
    plan_reopening(control, device, now_ns);
    control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .device = index});
}

void control_settle_devices(Control *control, uint64_t now_ns) {
    if (!control_life_decides(&control->life)) return;
    for (uint32_t i = 0; i < control->devices->count; i++) {
        ControlDevice *device = &control->devices->items[i];
        if (device->presence.state == DEVICE_PRESENCE_LOST && is_quiet(control, i))
            take_away(control, i, now_ns);
        if (device->presence.state == DEVICE_PRESENCE_AWAY && now_ns >= device->reopen_ns)
            change(control, device, EXECUTOR_OPEN_DEVICE);
    }
}

uint64_t control_devices_due_ns(const Control *control) {
    uint64_t due_ns = 0;
    if (control_life_drains(&control->life)) return 0;
    for (uint32_t i = 0; i < control->devices->count; i++) {
        const ControlDevice *device = &control->devices->items[i];
        if (device->presence.state == DEVICE_PRESENCE_AWAY)
            due_ns = control_earlier_ns(device->reopen_ns, due_ns);
    }
    return due_ns;
}
