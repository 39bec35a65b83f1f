#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/container_of.h"
#include "base/clock.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/state/control_internal.h"

static void begin_slice(ControlJob *job) {
    Control *control = job->control;
    ControlDevice *device = &control->devices.items[job->site.device];
    job->hold.slice_ended.handle = control_handle_slice_ended;
    (void)pthread_mutex_lock(&control->status_mutex);
    device->slice.running = job;
    (void)pthread_mutex_unlock(&control->status_mutex);
    uint64_t now_ns = control_now_ns(control);
    job->slice.resumed_ns = now_ns;
    control_watch_pauses(job);
    control_note_holder(job);
    device->slice.end_ns = job->slice.budget_ns ? now_ns + job->slice.budget_ns : 0;
    if (!job->pending.checkpoint_due_ns && job->policy.checkpoint_every_ns)
        job->pending.checkpoint_due_ns = now_ns + job->policy.checkpoint_every_ns;
    if (!job->asked.suspend_due_ns && job->policy.suspend_after_ns)
        job->asked.suspend_due_ns = now_ns + job->policy.suspend_after_ns;
    if (isnan(job->account.started)) { /* its first slice ever */
        job->account.started = control_calendar_s(control);
        control_observe(control, METRIC_START_SECONDS, job->account.submitted_ns, now_ns);
    }
    control_observe(control, METRIC_RESUME_SECONDS, job->account.move_in_ns, now_ns);
    job->account.move_in_ns = 0;
    control_tell_running(job);
    job->account.switched_from_ns = device->slice.last != job ? device->slice.last_end_ns : 0;
    control->ports.executor.run(
        control->ports.executor.self, &job->hold, job->site.device, job->slice.grant_bytes);
    control_update_status(job);
}

static void tell_moved(ControlJob *job, PolicyEventKind kind, bool worked) {
    control_post_event(
        job->control, (PolicyEvent){.kind = kind, .job = job->number.low, .worked = worked});
}

static bool is_loss(const Error *error) { return error_code(error) == ERROR_DEVICE_LOST; }

/* What a task did is told to the policy, but not what failed on a device that is lost: it learns of
 * that with the device. */
static void tell_done(Control *control, const ExecutorTask *task) {
    bool worked = !task->error;
    if (!worked && device_presence_is_lost(&control->devices.items[task->device].presence)) return;
    if (task->kind == EXECUTOR_LOAD_WEIGHTS)
        control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_LOADED,
                                        .model = task->model,
                                        .device = task->device,
                                        .worked = worked});
    else
        tell_moved(task->job,
            task->kind == EXECUTOR_LEAVE_TO_HOST ? POLICY_EVENT_MOVED_OUT : POLICY_EVENT_MOVED_IN,
            worked);
}

/* A job that could not be opened for its slice has failed; its inputs and model were checked when
 * it was taken in. */
static void opened(ControlJob *job, Error *owned_error) {
    const Control *control = job->control;
    const bool gone =
        job->site.state == JOB_SITE_OPENING_RECALLED || !control_life_decides(&control->life);
    const bool lost = device_presence_is_lost(&control->devices.items[job->site.device].presence) &&
                      (!owned_error || is_loss(owned_error));
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

static void note_loaded(Control *control, const ExecutorTask *task) {
    ControlModel *model = id_map_find(&control->jobs.models, 0, task->model);
    if (model) model->loaded_ns[task->device] = control_now_ns(control);
}

/* What a move did to the job's site; of an opening, opened() tells. */
static void step_moved(const ExecutorTask *task) {
    if (task->kind == EXECUTOR_LEAVE_TO_HOST)
        control_step_site(
            task->job, task->error ? JOB_SITE_EVENT_MOVE_FAILED : JOB_SITE_EVENT_LEFT);
    if (task->kind == EXECUTOR_ENTER_FROM_HOST || task->kind == EXECUTOR_ENTER_FROM_DISK)
        control_step_site(
            task->job, task->error ? JOB_SITE_EVENT_MOVE_FAILED : JOB_SITE_EVENT_ENTERED);
}

static void handle_task(Control *control, ExecutorTask *task) {
    ControlJob *job = task->job;
    control->in_flight--;
    control->devices.items[task->device].in_flight--;
    step_moved(task);
    bool worked = !task->error;
    if (is_loss(task->error)) control_lose_device(control, task->device);
    if (!worked && (task->kind == EXECUTOR_OPEN || task->kind == EXECUTOR_ENTER_FROM_DISK))
        control_job_close(job);
    else if (job) {
        job->function = task->function;
        job->slice.items_done =
            control->ports.executor.items_done(control->ports.executor.self, &job->hold);
        if (worked) control_tell_class(job);
    }
    if (worked && task->kind == EXECUTOR_LEAVE_TO_HOST)
        control_tell_moved_out(job, "to host memory");
    if (worked && task->kind == EXECUTOR_LOAD_WEIGHTS) note_loaded(control, task);
    if (task->error && job && task->kind != EXECUTOR_OPEN && !is_loss(task->error))
        control_set_waiting(job, "", task->error);
    if (task->kind == EXECUTOR_OPEN) {
        opened(job, task->error);
        task->error = NULL;
    } else
        tell_done(control, task);
    error_free(task->error);
    memory_free(task);
    if (job) {
        control_update_status(job);
        control_job_settle(job);
    }
}

/* A task that uses a device: nothing is done with the device before it has come back. */
static void post_task(Control *control, ExecutorTask owned_task) {
    owned_task.done = handle_task;
    control->devices.items[owned_task.device].in_flight++;
    control_post_task(control, owned_task);
}

static void post_job_task(ControlJob *job, ExecutorTaskKind kind, uint32_t device) {
    post_task(job->control, control_job_task(job, kind, device));
}

/* Nothing of a run was ever stored of it. */
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
        post_job_task(job, EXECUTOR_OPEN, job->site.device);
    }
}

void control_open_stored(ControlJob *job, bool stored) {
    const bool waits = job->site.state == JOB_SITE_AWAITING_ROW ||
                       job->site.state == JOB_SITE_AWAITING_ROW_RECALLED;
    if (stored && job_durable_has_checkpoint(&job->pending.durable) && job->known)
        control_post_event(
            job->control, (PolicyEvent){.kind = POLICY_EVENT_CHECKPOINTED, .job = job->number.low});
    if (!waits) return;
    control_step_site(job, stored ? JOB_SITE_EVENT_ROW_STORED : JOB_SITE_EVENT_ROW_REFUSED);
    if (stored)
        post_job_task(job, EXECUTOR_OPEN, job->site.device);
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
    for (uint32_t i = 0; i < control->devices.count; i++) {
        ControlDevice *device = &control->devices.items[i];
        ControlJob *job = device->slice.running;
        if (job && control_suspend_due_ns(job) && now_ns >= job->asked.suspend_due_ns)
            control_suspend_due(job);
        if (!device->slice.end_ns || now_ns < device->slice.end_ns) continue;
        device->slice.end_ns = 0;
        if (device->slice.running) control_ask_for_device(device->slice.running);
    }
}

void control_move_out(ControlJob *job, uint64_t device, PolicyPlace place) {
    if (job_site_is_aside(&job->site)) {
        control_move_aside_out(job, place);
        return;
    }
    if (job->site.state == JOB_SITE_ABSENT) job->site.device = (uint32_t)device; /* may be lost */
    control_step_site(job,
        place == POLICY_PLACE_HOST ? JOB_SITE_EVENT_LEAVE_TO_HOST : JOB_SITE_EVENT_LEAVE_TO_DISK);
    if (job->site.state == JOB_SITE_FAILED_ASIDE) {
        tell_moved(job, POLICY_EVENT_MOVED_OUT, false);
        return;
    }
    if (place == POLICY_PLACE_HOST) {
        post_job_task(job, EXECUTOR_LEAVE_TO_HOST, job->site.device);
        return;
    }
    control_commit(job); /* control_commits.c goes on */
    if (job_storing_has_ended(&job->pending.storing)) control_leave_policy(job);
}

void control_move_in(ControlJob *job, uint32_t device, PolicyPlace place) {
    control_job_count_out(job);
    if (control_job_move_arrival(job, device)) return;
    control_step_site(job, place == POLICY_PLACE_HOST ? JOB_SITE_EVENT_ENTER_FROM_HOST
                                                      : JOB_SITE_EVENT_ENTER_FROM_DISK);
    job->site.device = device;
    job->account.move_in_ns = control_now_ns(job->control);
    post_job_task(job,
        place == POLICY_PLACE_HOST ? EXECUTOR_ENTER_FROM_HOST : EXECUTOR_ENTER_FROM_DISK, device);
}

void control_load_weights(Control *control, uint64_t number, uint32_t device) {
    const ControlModel *model = id_map_find(&control->jobs.models, 0, number);
    if (model->constant_bytes == 0) return; /* nothing to wait for; the first slice opens it */
    post_task(control, (ExecutorTask){.kind = EXECUTOR_LOAD_WEIGHTS,
                           .model = number,
                           .identity = model->identity,
                           .tenant = model->tenant,
                           .device = device});
}
