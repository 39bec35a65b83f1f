#include "scheduler/control/requests/control_drain.h"

#include "base/allocator.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_receivers.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/policy_driver.h"

static void store_resting(Control *control, bool checkpointed) {
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (job->transient || job_storing_has_ended(&job->pending.storing)) continue;
        if (job_storing_is_new(&job->pending.storing) || !job_site_is_resting(&job->site)) continue;
        if (job_durable_has_checkpoint(&job->pending.durable) != checkpointed ||
            pending_snapshot_is_there(&job->pending.snapshot))
            continue;
        error_free(control_job_take_snapshot(job)); /* it goes on from what is stored of it */
        control_commit(job);
    }
}

void control_begin_drain(Control *control, ControlRequest *request) {
    control_step_life(control, CONTROL_LIFE_EVENT_DRAIN);
    control->drain->drainer = request;
    control->drain->grace_end_ns = control_now_ns(control) + request->grace_ns;
    control_forget_slice_ends(control);
    control_stop_slices(control, false);
    store_resting(control, false);
    store_resting(control, true);
}

/* Describes a job that a slice or an I/O task still uses. */
static void describe_left(ControlJob *job, TextBuilder *out) {
    char name[JOB_ID_TEXT_SIZE];
    const bool computes = job_site_has_slice(&job->site);
    const LongKernel kernel = computes ? control_job_get_kernel(job) : (LongKernel){0};
    const ExecutorDevice *device = control_device_facts(job->control, job->site.device);
    job_id_print(job->id, name);
    text_appendf(out, "%sjob %s has not stopped on %s", out->size ? "\n" : "", name, device->name);
    if (kernel.name)
        text_appendf(out, ", where its kernel %s has computed for %.1f s", kernel.name,
            (double)kernel.computed_ns * 1e-9);
    if (job->pending.stored != JOB_STATE_QUEUED)
        text_appendf(out, "; it is %s", job_state_info(job->pending.stored)->name);
    else
        text_appendf(out, "; the next start goes on from its %s",
            job_durable_has_checkpoint(&job->pending.durable) ? "last checkpoint" : "inputs");
}

static void describe_all_left(Control *control) {
    TextBuilder OWN_TEXT(text) = {0};
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (!job->transient && job->pending.stored != JOB_STATE_NONE &&
            (job_site_has_slice(&job->site) || job_site_is_busy(&job->site)))
            describe_left(job, &text);
    }
    if (text.size)
        error_free(text_builder_take(&text, &control->drain->left)); /* else it is not said */
}

void control_go_on_draining(Control *control) {
    if (control->life.state != CONTROL_LIFE_DRAINING) return;
    const bool busy = control_has_orders(control) || control_has_slices(control);
    size_t left = 0;
    if (busy && control_now_ns(control) < control->drain->grace_end_ns) return;
    describe_all_left(control);
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (job_storing_has_ended(&job->pending.storing)) continue;
        left += !job->transient && job->pending.stored == JOB_STATE_QUEUED;
        if (job->receiver)
            control_receive_error(
                job, error_make(ERROR_UNREACHABLE, __FILE__, __LINE__, "the daemon stops"));
        control_answer_drained(job);
    }
    ControlRequest *request = control->drain->drainer;
    control->drain->drainer = NULL;
    control_step_life(control, CONTROL_LIFE_EVENT_DRAINED);
    control->drain->grace_end_ns = 0;
    request->job.number = left;
    control_answer(request, NULL);
}

uint64_t control_drain_due_ns(const Control *control) {
    return control_life_drains(&control->life) ? control->drain->grace_end_ns : 0;
}

void control_answer_failed(Control *control) {
    OWN(Error, failure) = control_check(control);
    ControlRequest *drainer = TAKE(control->drain->drainer);
    size_t at = 0;
    control_drop_events(control);
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        if (job->receiver) control_receive_error(job, error_copy(failure));
        control_answer_waiters(job, failure);
    }
    if (drainer) control_answer(drainer, error_copy(failure));
}

const char *control_get_left(const Control *control) {
    return control->drain->left ? control->drain->left : "";
}

void control_refuse_jobs(Control *control, bool refuse) {
    atomic_store(&control->drain->refuses_jobs, refuse);
}

bool control_refuses_jobs(const Control *control) {
    return atomic_load(&control->drain->refuses_jobs);
}

void control_drain_deinit(ControlDrain *drain) { memory_free(drain->left); }
