#include "scheduler/control/slices/control_moves.h"

#include "base/allocator.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_status.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/jobs/job_reports.h"
#include "scheduler/control/slices/control_arrival.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/job_models.h"
#include "scheduler/control/state/policy_driver.h"

/* ---- tasks that use a device ---- */

void control_begin_task(Control *control, ExecutorTask owned_task) {
    control_begin_use(control, owned_task.device);
    control_post_task(control, owned_task);
}

static bool is_loss(const Error *error) { return error_code(error) == ERROR_DEVICE_LOST; }

void control_end_task(Control *control, const ExecutorTask *task) {
    control_end_order(control);
    control_end_use(control, task->device);
    if (is_loss(task->error)) control_lose_device(control, task->device);
}

void control_note_moved(ControlJob *job, const ExecutorTask *task) {
    const ControlExecutorPort *executor = &job->control->ports.executor;
    job->function = task->function;
    job->slice.items_done = executor->items_done(executor->self, &job->hold);
    if (!task->error && control_tell_class(job)) control_commit(job);
}

/* The policy is told what a task did, but not what failed on a device that is lost: the policy
 * learns of that with the device. */
static bool is_told(const Control *control, const ExecutorTask *task) {
    return !task->error || !control_device_is_lost(control, task->device);
}

/* ---- jobs ---- */

static void step_moved(const ExecutorTask *task) {
    const JobSiteEvent worked =
        task->kind == EXECUTOR_LEAVE_TO_HOST ? JOB_SITE_EVENT_LEFT : JOB_SITE_EVENT_ENTERED;
    control_step_site(task->job, task->error ? JOB_SITE_EVENT_MOVE_FAILED : worked);
}

static void handle_moved(Control *control, ExecutorTask *task) {
    ControlJob *job = task->job;
    const bool worked = !task->error, leaves = task->kind == EXECUTOR_LEAVE_TO_HOST;
    step_moved(task);
    control_end_task(control, task);
    if (!worked && task->kind == EXECUTOR_ENTER_FROM_DISK)
        control_job_close(job);
    else
        control_note_moved(job, task);
    if (worked && leaves) control_tell_moved_out(job, "to host memory");
    if (!worked && !is_loss(task->error)) control_set_waiting(job, "", task->error);
    if (is_told(control, task))
        control_report_moved(job, leaves ? POLICY_EVENT_MOVED_OUT : POLICY_EVENT_MOVED_IN, worked);
    error_free(task->error);
    memory_free(task);
    control_update_status(job);
    control_job_settle(job);
}

static void move(ControlJob *job, ExecutorTaskKind kind, uint32_t device) {
    ExecutorTask task = control_job_task(job, kind, device);
    task.done = handle_moved;
    control_begin_task(job->control, task);
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
        control_report_moved(job, POLICY_EVENT_MOVED_OUT, false);
        return;
    }
    if (place == POLICY_PLACE_HOST) {
        move(job, EXECUTOR_LEAVE_TO_HOST, job->site.device);
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
    move(job, place == POLICY_PLACE_HOST ? EXECUTOR_ENTER_FROM_HOST : EXECUTOR_ENTER_FROM_DISK,
        device);
}

/* ---- weights ---- */

static void handle_loaded(Control *control, ExecutorTask *task) {
    ControlModel *model = control_find_model(control, task->model);
    const bool worked = !task->error;
    control_end_task(control, task);
    if (worked && model) model->loaded_ns[task->device] = control_now_ns(control);
    if (is_told(control, task))
        control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_LOADED,
                                        .model = task->model,
                                        .device = task->device,
                                        .worked = worked});
    error_free(task->error);
    memory_free(task);
}

void control_load_weights(Control *control, uint64_t number, uint32_t device) {
    const ControlModel *model = control_find_model(control, number);
    if (model->constant_bytes == 0) return; /* nothing to wait for; the first slice opens it */
    control_begin_task(control, (ExecutorTask){.done = handle_loaded,
                                    .kind = EXECUTOR_LOAD_WEIGHTS,
                                    .model = number,
                                    .identity = model->identity,
                                    .tenant = model->tenant,
                                    .device = device});
}

void control_evict_weights(Control *control, uint64_t number, uint32_t device) {
    const ControlModel *model = control_find_model(control, number);
    const ControlExecutorPort *executor = &control->ports.executor;
    if (model) executor->evict(executor->self, model->tenant, &model->identity, device);
    control_post_event(control,
        (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_EVICTED, .model = number, .device = device});
}
