#include "scheduler/control/slices/device_slice.h"

#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/policy_driver.h"

/* A slice has so long to come to a safepoint before its kernel pauses, and before it is set aside
 * wherever it is. */
static const uint64_t PAUSE_NS = 5000000, GIVE_UP_NS = 40000000;

void control_give_device(ControlJob *job, uint64_t budget_ns) {
    Control *control = job->control;
    ControlDevice *device = &control->devices->items[job->site.device];
    control_lock(control);
    device->slice.running = job;
    control_unlock(control);
    job->slice.resumed_ns = control_now_ns(control);
    device->slice.end_ns = budget_ns ? job->slice.resumed_ns + budget_ns : 0;
    control_note_holder(job);
}

void control_note_holder(ControlJob *job) {
    ControlDevice *device = &job->control->devices->items[job->site.device];
    if (device->slice.holder == job->number.low) return;
    device->slice.holder = job->number.low;
    device->slice.held_since_ns = control_now_ns(job->control);
}

void control_shorten_slice(ControlJob *job, uint64_t budget_ns) {
    DeviceSlice *slice = &job->control->devices->items[job->site.device].slice;
    slice->end_ns = control_earlier_ns(job->slice.resumed_ns + budget_ns, slice->end_ns);
}

/* A kernel never pauses on a lent thread, whose owner has other work. */
void control_ask_for_device(ControlJob *job) {
    const uint64_t now_ns = control_now_ns(job->control);
    if (job->slice.lent)
        control_request_slice(job, EXECUTOR_ABANDON, 0);
    else
        control_request_slice(job, EXECUTOR_PAUSE, now_ns + PAUSE_NS);
    job->control->devices->items[job->site.device].slice.give_up_ns = now_ns + GIVE_UP_NS;
}

void control_forget_slice_ends(Control *control) {
    for (uint32_t i = 0; i < control->devices->count; i++) {
        DeviceSlice *slice = &control->devices->items[i].slice;
        slice->end_ns = slice->give_up_ns = 0;
    }
}

bool control_has_slices(const Control *control) {
    bool has = control->devices->aside_count > 0;
    for (uint32_t i = 0; i < control->devices->count; i++)
        has |= control->devices->items[i].slice.running != NULL;
    return has;
}

uint64_t control_find_holder(const Control *control, uint32_t index) {
    return control->devices->items[index].slice.holder;
}

uint64_t control_held_since_ns(const Control *control, uint32_t index) {
    return control->devices->items[index].slice.held_since_ns;
}

void control_discard_slice(ControlJob *job) {
    if (job_site_has_slice(&job->site)) control_request_slice(job, EXECUTOR_DISCARD, 0);
}

void control_stop_slices(Control *control, bool discard) {
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (!job_site_has_slice(&job->site)) continue;
        if (discard)
            control_request_slice(job, EXECUTOR_DISCARD, 0);
        else
            control_request_slice(job, EXECUTOR_ABANDON, 0);
    }
}

uint64_t control_slice_ns(const ControlJob *job) {
    const WorkerSlice *slice = &job->hold.slice;
    const uint64_t end_ns = slice->start_ns + slice->device_time_ns;
    if (job->slice.resumed_ns <= slice->start_ns) return slice->device_time_ns;
    return end_ns > job->slice.resumed_ns ? end_ns - job->slice.resumed_ns : 0;
}

void control_leave_device(ControlJob *job, uint64_t device_ns) {
    Control *control = job->control;
    ControlDevice *device = &control->devices->items[job->site.device];
    control_lock(control);
    device->slice.running = NULL;
    device->slice.busy_ns += device_ns;
    control_account_slice(job, control_now_ns(control), device_ns);
    control_unlock(control);
    device->slice.end_ns = device->slice.give_up_ns = 0;
    if ((job->asked.goal.state == JOB_GOAL_CANCELLING ||
            job_storing_has_ended(&job->pending.storing)) &&
        device_ns > 0)
        control_account_late(job);
}

void control_end_slice(ControlJob *job, PolicyOutcome outcome, uint64_t device_ns, uint64_t bytes) {
    if (device_ns > POLICY_TIME_MAX) device_ns = POLICY_TIME_MAX;
    control_leave_device(job, device_ns);
    control_post_event(job->control, (PolicyEvent){.kind = POLICY_EVENT_SLICE_ENDED,
                                         .job = job->number.low,
                                         .device = job->site.device,
                                         .device_time_ns = device_ns,
                                         .outcome = outcome,
                                         .bytes = bytes});
}
