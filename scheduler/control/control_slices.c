#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/container_of.h"
#include "base/clock.h"
#include "scheduler/control/control_accounts.h"
#include "scheduler/control/control_tellings.h"
#include "scheduler/control/control_aside.h"
#include "scheduler/control/control_internal.h"
#include "scheduler/node/stored_arrays.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/stored_content.h"

/* Work on an I/O thread for a job or a model, and its way back. */
typedef enum TaskKind {
    TASK_OPEN,         /* model and inputs, for its first slice here */
    TASK_MOVE_IN_DISK, /* the same, and its newest checkpoint */
    TASK_MOVE_IN_HOST,
    TASK_MOVE_OUT_HOST,
    TASK_LOAD_WEIGHTS,
} TaskKind;

typedef struct Task {
    IoTask task;
    Message message;
    TaskKind kind;
    Control *control;
    ControlJob *job; /* NULL for weights; its run and what belongs to it are the task's meanwhile */
    uint64_t model;
    Digest identity;
    TenantId tenant;
    uint32_t device;
    ExecutionLimits limits; /* of its tenant */
    uint64_t grant_bytes;   /* of the job when the task was posted, as are the next two */
    bool fresh, has_checkpoint;
    Error *error;
} Task;

/* ---- on an I/O thread ---- */

static Error *make_batch(ControlJob *job) {
    const Control *control = job->control;
    ArrayList OWN_ARRAYS(arrays) = {0};
    const BatchOptions options = job_policy_batch_options(&job->policy);
    if (job->batch) return NULL;
    TRY(executable_find_function(job->held->executable, job->policy.function, &job->function));
    TRY(stored_arrays_read(control->options.store, control->options.pool, job->tenant, job->id,
        JOB_CONTENT_INPUTS, 0, STORED_ARRAYS_INPUTS_MAX, &arrays));
    return batch_create(job->held->executable, job->function, &arrays, &options, &job->batch);
}

typedef struct Rewinding {
    const ControlJob *job;
    bool done;
} Rewinding;

static Error *rewind_some(Connection *catalog, void *context) {
    Rewinding *work = context;
    return job_outputs_rewind(catalog, work->job->tenant, work->job->id, &work->done);
}

/* In steps, between which others write. */
static Error *rewind_outputs(const ControlJob *job) {
    Rewinding work = {.job = job};
    while (!work.done) TRY(catalog_run(job->control->options.catalog, rewind_some, &work));
    return NULL;
}

/* The run of a job that has its model and its inputs. */
static Error *make_run(ControlJob *job, const ExecutionLimits *limits, uint64_t grant_bytes) {
    ExecutionOptions options = job_policy_execution_options(&job->policy);
    execution_limits_apply(limits, &options);
    Batch *batch = job->batch;
    job->batch = NULL;
    TRY(job_run_create(batch, job->function, &options, &job->run));
    job_run_set_grant(job->run, grant_bytes);
    job_run_set_suspend_at(job->run, job->policy.suspend_at, job->suspend_passed);
    return NULL;
}

/* Everything that a run needs: the model on the device, inputs. */
static Error *open_job(const Task *task) {
    ControlJob *job = task->job;
    Control *control = job->control;
    uint32_t device = task->device;
    const Digest *identity = &job->model->identity;
    TRY(resident_models_hold(control->models, job->tenant, identity, &job->held));
    job->residency = resident_models_get(control->models, job->tenant, identity, device);
    if (!job->residency) { /* a model without weights is not loaded by the policy */
        TRY(resident_models_load(
            control->models, job->tenant, identity, device, control->devices[device].device));
        job->residency = resident_models_get(control->models, job->tenant, identity, device);
    }
    TRY(make_batch(job));
    if (!task->fresh) TRY(rewind_outputs(job));
    return make_run(job, &task->limits, task->grant_bytes);
}

static Error *restore_job(ControlJob *job) {
    OWN(StoredContent, content) = NULL;
    JobCheckpoint checkpoint;
    size_t size;
    Store *store = job->control->options.store;
    TRY(job_checkpoints_get(store, job->tenant, job->id, 0, &checkpoint));
    TRY(stored_content_open(
        store, job->tenant, job->id, JOB_CONTENT_CHECKPOINT, checkpoint.number, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    return job_run_restore(job->run, bytes, size, job->control->options.pool, CHUNK_VERIFY_XXH3,
        stored_content_source(content), job->residency, NULL);
}

static Error *move_in_host(ControlJob *job, uint32_t device) {
    Control *control = job->control;
    const Digest *identity = &job->model->identity;
    job->residency = resident_models_get(control->models, job->tenant, identity, device);
    if (!job->residency) FAIL(INTERNAL, "a model is not where its execution moves to");
    return job_run_move_in(job->run, job->residency, control->options.pool);
}

static Error *do_task(Task *task) {
    ControlJob *job = task->job;
    Error *error;
    switch (task->kind) {
    case TASK_OPEN: /* there is a checkpoint when the job came from a file */
    case TASK_MOVE_IN_DISK:
        error = open_job(task);
        if (!error && task->has_checkpoint) error = restore_job(job);
        return error;
    case TASK_MOVE_IN_HOST:
        error = move_in_host(job, task->device);
        if (!error) return NULL;
        residency_release(job->residency);
        job->residency = NULL;
        return error;
    case TASK_MOVE_OUT_HOST:
        TRY(job_run_move_out(job->run, task->control->options.pool));
        residency_release(job->residency);
        job->residency = NULL;
        return NULL;
    case TASK_LOAD_WEIGHTS:
        return resident_models_load(task->control->models, task->tenant, &task->identity,
            task->device, task->control->devices[task->device].device);
    }
    return NULL;
}

static void run_task(IoTask *io_task) {
    Task *task = (Task *)io_task;
    task->error = do_task(task);
    control_post(task->control, &task->message);
}

/* ---- on the control thread ---- */

static void begin_slice(ControlJob *job) {
    Control *control = job->control;
    ControlDevice *device = &control->devices[job->site.device];
    job_run_set_grant(job->run, job->grant_bytes);
    job->slice = (WorkerSlice){.run = job->run,
        .residency = job->residency,
        .sink = {control_keep_output, job},
        .done = control_post_slice_ended};
    job->slice_ended.handle = control_handle_slice_ended;
    (void)pthread_mutex_lock(&control->status_mutex);
    device->running = job;
    (void)pthread_mutex_unlock(&control->status_mutex);
    uint64_t now_ns = control_now_ns(control);
    job->resumed_ns = now_ns;
    control_watch_pauses(job);
    control_note_holder(job);
    device->slice_end_ns = job->budget_ns ? now_ns + job->budget_ns : 0;
    if (!job->checkpoint_due_ns && job->policy.checkpoint_every_ns)
        job->checkpoint_due_ns = now_ns + job->policy.checkpoint_every_ns;
    if (!job->suspend_due_ns && job->policy.suspend_after_ns && !job->suspend_passed)
        job->suspend_due_ns = now_ns + job->policy.suspend_after_ns;
    if (isnan(job->started)) { /* its first slice ever */
        job->started = control_calendar_s(control);
        control_observe(control, METRIC_START_SECONDS, job->submitted_ns, now_ns);
    }
    control_observe(control, METRIC_RESUME_SECONDS, job->move_in_ns, now_ns);
    job->move_in_ns = 0;
    control_tell_running(job);
    job->switched_from_ns = device->last != job ? device->last_end_ns : 0;
    worker_post(device->worker, &job->slice);
    control_update_status(job);
}

static void post_task(Control *control, Task owned_task) {
    void *memory;
    Error *error = memory_alloc(1, sizeof(Task), &memory);
    if (error) {
        control_fail(control, error);
        return;
    }
    Task *task = memory;
    *task = owned_task;
    task->control = control;
    task->task.run = run_task;
    control->in_flight++;
    control->devices[task->device].in_flight++;
    if (task->job) {
        task->limits = control_find_limits(control, task->job->tenant);
        task->grant_bytes = task->job->grant_bytes;
        task->fresh = task->job->fresh;
        task->has_checkpoint = task->job->has_checkpoint;
    }
    io_pool_post(control->io, &task->task);
}

static void tell_moved(ControlJob *job, PolicyEventKind kind, bool worked) {
    control_post_event(
        job->control, (PolicyEvent){.kind = kind, .job = job->number.low, .worked = worked});
}

static bool is_loss(const Error *error) { return error_code(error) == ERROR_DEVICE_LOST; }

/* What a task did is told to the policy, but not what failed on a device that is lost: it learns of
 * that with the device. */
static void tell_done(const Task *task) {
    Control *control = task->control;
    bool worked = !task->error;
    if (!worked && control->devices[task->device].lost) return;
    if (task->kind == TASK_LOAD_WEIGHTS)
        control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_LOADED,
                                        .model = task->model,
                                        .device = task->device,
                                        .worked = worked});
    else
        tell_moved(task->job,
            task->kind == TASK_MOVE_OUT_HOST ? POLICY_EVENT_MOVED_OUT : POLICY_EVENT_MOVED_IN,
            worked);
}

/* A job that could not be opened for its slice has failed; its inputs and model were checked when
 * it was taken in. */
static void opened(ControlJob *job, Error *owned_error) {
    const Control *control = job->control;
    const bool gone = job->site.state == JOB_SITE_OPENING_RECALLED || control->draining ||
                      control->ending || control->failed;
    const bool lost =
        control->devices[job->site.device].lost && (!owned_error || is_loss(owned_error));
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

static void note_loaded(Control *control, const Task *task) {
    ControlModel *model = id_map_find(&control->model_map, 0, task->model);
    if (model) model->loaded_ns[task->device] = control_now_ns(control);
}

/* What a move did to the job's site; of an opening, opened() tells. */
static void step_moved(const Task *task) {
    if (task->kind == TASK_MOVE_OUT_HOST)
        control_step_site(
            task->job, task->error ? JOB_SITE_EVENT_MOVE_FAILED : JOB_SITE_EVENT_LEFT);
    if (task->kind == TASK_MOVE_IN_HOST || task->kind == TASK_MOVE_IN_DISK)
        control_step_site(
            task->job, task->error ? JOB_SITE_EVENT_MOVE_FAILED : JOB_SITE_EVENT_ENTERED);
}

static void handle_task(void *context, Message *message) {
    Control *control = context;
    Task *task = CONTAINER_OF(message, Task, message);
    ControlJob *job = task->job;
    control->in_flight--;
    control->devices[task->device].in_flight--;
    step_moved(task);
    bool worked = !task->error;
    if (is_loss(task->error)) control_lose_device(control, task->device);
    if (!worked && (task->kind == TASK_OPEN || task->kind == TASK_MOVE_IN_DISK))
        control_job_close(job);
    else if (job) {
        job->items_done = job_run_items_done(job->run);
        if (worked) control_tell_class(job);
    }
    if (worked && task->kind == TASK_MOVE_OUT_HOST) control_tell_moved_out(job, "to host memory");
    if (worked && task->kind == TASK_LOAD_WEIGHTS) note_loaded(control, task);
    if (task->error && job && task->kind != TASK_OPEN && !is_loss(task->error))
        control_set_waiting(job, "", task->error);
    if (task->kind == TASK_OPEN) {
        opened(job, task->error);
        task->error = NULL;
    } else
        tell_done(task);
    error_free(task->error);
    memory_free(task);
    if (job) {
        control_update_status(job);
        control_job_settle(job);
    }
}

static void post_open(ControlJob *job) {
    post_task(job->control, (Task){.kind = TASK_OPEN,
                                .message.handle = handle_task,
                                .job = job,
                                .device = job->site.device});
}

/* A job that has just come, of a model that is there already: nothing has to be read. False: an I/O
 * thread is to do it. */
static bool open_at_once(ControlJob *job, uint32_t device) {
    if (!job->batch || !job->fresh) return false;
    if (!resident_models_try_hold(job->control->models, job->tenant, &job->model->identity, device,
            &job->held, &job->residency))
        return false;
    ExecutionLimits limits = control_find_limits(job->control, job->tenant);
    Error *error = make_run(job, &limits, job->grant_bytes);
    if (!error) return true;
    error_free(error); /* no memory: it is tried once more with the inputs that are stored */
    control_job_close(job);
    return false;
}

void control_run_job(ControlJob *job, uint32_t device, uint64_t budget_ns) {
    (void)control_job_close_arrival(job, device);
    job->site.device = device;
    control_job_count_out(job);
    job->budget_ns = budget_ns;
    if (job_storing_has_ended(&job->storing)) { /* the policy hears of that behind this decision */
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
    } else if (!(job->fresh && job->batch) && job_storing_is_new(&job->storing))
        control_step_site(job, JOB_SITE_EVENT_RUN_WAITS);
    else {
        control_step_site(job, JOB_SITE_EVENT_RUN_OPENS);
        post_open(job);
    }
}

void control_open_stored(ControlJob *job, bool stored) {
    const bool waits = job->site.state == JOB_SITE_AWAITING_ROW ||
                       job->site.state == JOB_SITE_AWAITING_ROW_RECALLED;
    if (stored && job->has_checkpoint && job->known)
        control_post_event(
            job->control, (PolicyEvent){.kind = POLICY_EVENT_CHECKPOINTED, .job = job->number.low});
    if (!waits) return;
    control_step_site(job, stored ? JOB_SITE_EVENT_ROW_STORED : JOB_SITE_EVENT_ROW_REFUSED);
    if (stored)
        post_open(job);
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
    for (uint32_t i = 0; i < control->device_count; i++) {
        ControlDevice *device = &control->devices[i];
        ControlJob *job = device->running;
        if (job && job->suspend_due_ns && now_ns >= job->suspend_due_ns) control_suspend_due(job);
        if (!device->slice_end_ns || now_ns < device->slice_end_ns) continue;
        device->slice_end_ns = 0;
        if (device->running) control_ask_for_device(device->running);
    }
}

void control_move_out(ControlJob *job, PolicyPlace place) {
    if (job_site_is_aside(&job->site)) {
        control_move_aside_out(job, place);
        return;
    }
    control_step_site(job,
        place == POLICY_PLACE_HOST ? JOB_SITE_EVENT_LEAVE_TO_HOST : JOB_SITE_EVENT_LEAVE_TO_DISK);
    if (job->site.state == JOB_SITE_FAILED_ASIDE) {
        tell_moved(job, POLICY_EVENT_MOVED_OUT, false);
        return;
    }
    if (place == POLICY_PLACE_HOST) {
        post_task(job->control, (Task){.kind = TASK_MOVE_OUT_HOST,
                                    .message.handle = handle_task,
                                    .job = job,
                                    .device = job->site.device});
        return;
    }
    control_commit(job); /* control_commits.c goes on */
    if (job_storing_has_ended(&job->storing)) control_leave_policy(job);
}

void control_move_in(ControlJob *job, uint32_t device, PolicyPlace place) {
    control_job_count_out(job);
    if (control_job_move_arrival(job, device)) return;
    control_step_site(job, place == POLICY_PLACE_HOST ? JOB_SITE_EVENT_ENTER_FROM_HOST
                                                      : JOB_SITE_EVENT_ENTER_FROM_DISK);
    job->site.device = device;
    job->move_in_ns = control_now_ns(job->control);
    post_task(job->control,
        (Task){.kind = place == POLICY_PLACE_HOST ? TASK_MOVE_IN_HOST : TASK_MOVE_IN_DISK,
            .message.handle = handle_task,
            .job = job,
            .device = device});
}

void control_load_weights(Control *control, uint64_t number, uint32_t device) {
    const ControlModel *model = id_map_find(&control->model_map, 0, number);
    if (model->constant_bytes == 0) return; /* nothing to wait for; the first slice opens it */
    post_task(control, (Task){.kind = TASK_LOAD_WEIGHTS,
                           .message.handle = handle_task,
                           .model = number,
                           .identity = model->identity,
                           .tenant = model->tenant,
                           .device = device});
}
