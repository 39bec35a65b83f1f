#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/jobs/control_tellings.h"
#include "scheduler/control/state/control_internal.h"
#include "scheduler/control/devices/control_place.h"

const ControlDevice *control_find_cpu(const Control *control, uint32_t *out_index) {
    for (uint32_t i = 0; i < control->devices.count; i++)
        if (strcmp(control->devices.items[i].facts.kind, "cpu") == 0) {
            *out_index = i;
            return &control->devices.items[i];
        }
    return NULL;
}

/* ---- which device a job may have ---- */

static Error *require_device(const ControlJob *job, uint64_t *inout_device) {
    const Control *control = job->control;
    if (!job->model->device_strings) return NULL;
    if (*inout_device != POLICY_NO_DEVICE) {
        const ControlDevice *device = &control->devices.items[*inout_device];
        if (device->facts.host_memory) return NULL;
        FAIL(UNSUPPORTED, "%s cannot run this model: it has strings in slot 1; only cpu runs it",
            device->facts.name);
    }
    for (uint32_t i = 0; i < control->devices.count; i++)
        if (control->devices.items[i].facts.host_memory) {
            *inout_device = i;
            return NULL;
        }
    FAIL(UNSUPPORTED,
        "no device here can run this model: it has strings in slot 1; only cpu runs it");
}

Error *control_job_find_device(const ControlJob *job, const char *name, uint64_t *out_device) {
    uint64_t device;
    TRY(control_find_device(job->control, name, &device));
    TRY(require_device(job, &device));
    *out_device = device;
    return NULL;
}

bool control_job_place(ControlJob *job, const char *name, uint64_t *out_device) {
    Error *error = control_job_find_device(job, name, out_device);
    if (error) {
        error_free(error);
        error = control_job_find_device(job, NULL, out_device);
    }
    if (!error) return true;
    control_want_state(job, JOB_STATE_SUSPENDED, error_message(error));
    error_free(error);
    return false;
}

/* ---- coming ---- */

static void tell_added(Control *control, uint32_t index, uint64_t bytes) {
    ControlDevice *device = &control->devices.items[index];
    (void)pthread_mutex_lock(&control->status_mutex);
    device->facts.memory_bytes = bytes;
    (void)pthread_mutex_unlock(&control->status_mutex);
    /* the machine's own memory holds more than executions: inputs, outputs, what moved out */
    if (device->facts.host_memory) bytes /= 2;
    control_post_event(
        control, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED,
                     .device = index,
                     .memory_bytes = bytes < POLICY_BYTES_MAX ? bytes : POLICY_BYTES_MAX,
                     .speed = device->facts.speed ? device->facts.speed : 1});
}

Error *control_add_device(Control *control, const char *spec) {
    const ControlExecutorPort *executor = &control->ports.executor;
    const uint32_t index = control->devices.count;
    ControlDevice *device = &control->devices.items[index];
    TRY(executor->add_device(
        executor->self, spec, control->options.device_count > 1, &device->facts));
    control->devices.count++;
    tell_added(control, index, device->facts.memory_bytes);
    return NULL;
}

/* ---- going ---- */

static void warn(const Control *control, const ControlDevice *device, const char *what) {
    char text[256];
    if (!control->options.warn) return;
    (void)snprintf(text, sizeof text, "device %s %s", device->facts.name, what);
    control->options.warn(NULL, text);
}

void control_lose_device(Control *control, uint32_t index) {
    ControlDevice *device = &control->devices.items[index];
    if (device_presence_is_lost(&device->presence)) return;
    control_step_presence(control, device, DEVICE_PRESENCE_EVENT_LOSE);
    if (device->slice.running) control_request_slice(device->slice.running, EXECUTOR_ABANDON, 0);
    control_count(control, METRIC_DEVICE_LOSSES, 0, 1);
    warn(control, device, "is lost; its jobs go on from their checkpoints when there is a device");
}

/* Whoever waits for a checkpoint of it gets the next one. */
static void lose_snapshot(ControlJob *job) {
    if (job->pending.snapshot_on) job->pending.checkpoint_wanted = true;
    control_job_drop_snapshot(job);
}

/* What the job was doing there is gone, as after a crash: it goes on from what is stored. What has
 * ended keeps what it made. */
static void throw_back(ControlJob *job) {
    bool begun = job_site_is_open(&job->site);
    if (job->site.state == JOB_SITE_FAILED_ASIDE) error_free(TAKE(job->hold.slice.error));
    control_step_site(job, JOB_SITE_EVENT_DEVICE_LOST);
    if (begun) control_job_close(job);
    if (begun && job->known) {
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

/* Any job that rests there; NULL: none does. */
static ControlJob *find_on(const Control *control, uint32_t index) {
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (job && job_site_is_on(&job->site, index)) return job;
    }
    return NULL;
}

/* Nothing refers to it any more but jobs that rest there. */
static bool is_quiet(const Control *control, uint32_t index) {
    const ControlDevice *device = &control->devices.items[index];
    if (device->slice.running || device->in_flight > 0) return false;
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        const ControlJob *job = (const ControlJob *)control->jobs.by_number.slots[i];
        if (job && job_site_is_on(&job->site, index) &&
            job_storing_is_committing(&job->pending.storing))
            return false; /* its outputs come first */
    }
    return true;
}

/* A device that is lost often is looked at seldom. */
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
    tell_added(control, (uint32_t)(device - control->devices.items), bytes);
    warn(control, device, "is back");
}

static void handle_changed(Control *control, ExecutorTask *task) {
    ControlDevice *device = &control->devices.items[task->device];
    control->in_flight--;
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

/* Closes or opens it: a driver may take seconds. */
static void change(Control *control, ControlDevice *device, ExecutorTaskKind kind) {
    control_step_presence(control, device,
        kind == EXECUTOR_CLOSE_DEVICE ? DEVICE_PRESENCE_EVENT_QUIET : DEVICE_PRESENCE_EVENT_DUE);
    control_post_task(control, (ExecutorTask){.done = handle_changed,
                                   .kind = kind,
                                   .device = (uint32_t)(device - control->devices.items)});
}

static void take_away(Control *control, uint32_t index, uint64_t now_ns) {
    ControlDevice *device = &control->devices.items[index];
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (job && job->pending.snapshot_on == index + 1) lose_snapshot(job);
    }
    for (ControlJob *job; (job = find_on(control, index));) throw_back(job);
    control->ports.executor.evict_all(control->ports.executor.self, index);
    change(control, device, EXECUTOR_CLOSE_DEVICE);
    plan_reopening(control, device, now_ns);
    control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .device = index});
}

/* ---- coming back ---- */

void control_settle_devices(Control *control, uint64_t now_ns) {
    if (!control_life_decides(&control->life)) return;
    for (uint32_t i = 0; i < control->devices.count; i++) {
        ControlDevice *device = &control->devices.items[i];
        if (device->presence.state == DEVICE_PRESENCE_LOST && is_quiet(control, i))
            take_away(control, i, now_ns);
        if (device->presence.state == DEVICE_PRESENCE_AWAY && now_ns >= device->reopen_ns)
            change(control, device, EXECUTOR_OPEN_DEVICE);
    }
    if (control->event_count > 0) control_apply_events(control);
}

uint64_t control_devices_due_ns(const Control *control) {
    uint64_t due_ns = 0;
    if (control_life_drains(&control->life)) return 0;
    for (uint32_t i = 0; i < control->devices.count; i++) {
        const ControlDevice *device = &control->devices.items[i];
        if (device->presence.state != DEVICE_PRESENCE_AWAY) continue;
        if (!due_ns || device->reopen_ns < due_ns) due_ns = device->reopen_ns;
    }
    return due_ns;
}

void control_evict_weights(Control *control, uint64_t number, uint32_t device) {
    const ControlModel *model = id_map_find(&control->jobs.models, 0, number);
    const ControlExecutorPort *executor = &control->ports.executor;
    if (model) executor->evict(executor->self, model->tenant, &model->identity, device);
    control_post_event(control,
        (PolicyEvent){.kind = POLICY_EVENT_WEIGHTS_EVICTED, .model = number, .device = device});
}

/* ---- what others may see ---- */

void control_note_idle_devices(Control *control) {
    for (uint32_t i = 0; i < control->devices.count; i++)
        if (!control->devices.items[i].slice.running)
            control->devices.items[i].slice.last_end_ns = 0;
}

const char *control_awaited_device(const Control *control, uint64_t demanded) {
    const char *lost = NULL;
    for (uint32_t i = 0; i < control->devices.count; i++) {
        if (demanded != POLICY_NO_DEVICE && demanded != i) continue;
        if (!device_presence_is_lost(&control->devices.items[i].presence)) return NULL;
        lost = control->devices.items[i].facts.name;
    }
    return lost;
}

const char *control_find_class(const Control *control, const char *device) {
    for (uint32_t i = 0; i < control->devices.count; i++)
        if (strcmp(control->devices.items[i].facts.name, device) == 0)
            return control->devices.items[i].facts.determinism_class;
    return NULL;
}

uint32_t control_device_count(const Control *control) { return control->devices.count; }

/* Without the mutex: a device may let itself be waited for. */
static Error *get_memory(Control *control, uint32_t index, ControlDeviceStatus *inout_status) {
    const ControlExecutorPort *executor = &control->ports.executor;
    DeviceMemory memory;
    Error *error = executor->get_memory(executor->self, index, &memory);
    if (!error) {
        inout_status->memory = memory;
        inout_status->lost = false;
    }
    if (error_code(error) != ERROR_DEVICE_LOST) return error;
    error_free(error); /* nobody has noticed yet */
    return NULL;
}

Error *control_get_device(Control *control, uint32_t index, ControlDeviceStatus *out_status) {
    ControlDevice *device = &control->devices.items[index];
    (void)pthread_mutex_lock(&control->status_mutex);
    *out_status = (ControlDeviceStatus){.name = device->facts.name,
        .kind = device->facts.kind,
        .determinism_class = device->facts.determinism_class,
        .memory.total_bytes = device->facts.memory_bytes,
        .lost = true,
        .busy_seconds = (double)device->slice.busy_ns * 1e-9,
        .speed = device->facts.speed};
    if (device->slice.running) {
        out_status->job = device->slice.running->id;
        out_status->tenant = device->slice.running->tenant;
    }
    const bool lost = device_presence_is_lost(&device->presence);
    (void)pthread_mutex_unlock(&control->status_mutex);
    return lost ? NULL : get_memory(control, index, out_status);
}
