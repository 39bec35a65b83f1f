#include "scheduler/control/control.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/spin.h"
#include "base/thread.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/control/control_accounts.h"
#include "scheduler/control/control_tellings.h"
#include "scheduler/control/control_aside.h"
#include "scheduler/control/control_internal.h"
#include "scheduler/node/refusal_text.h"

enum {
    TURN_NS = 100000,
    IDLE_MODELS_SHARE = 8, /* of the host's memory for models that nothing needs just now */
};
/* What a tenant's suspended executions may not take of the host's memory. */
#define CHECKPOINT_RESERVE_BYTES ((uint64_t)64 << 20)

uint64_t control_now_ns(void) { return clock_now_ns(clock_real()); }

/* ---- events and actions ---- */

void control_post_event(Control *control, PolicyEvent event) {
    void *memory = control->events;
    Error *error =
        memory_grow(&memory, control->event_count, &control->event_capacity, sizeof(PolicyEvent));
    if (error) {
        control_fail(control, error);
        return;
    }
    control->events = memory;
    event.time_ns = control_now_ns();
    control->events[control->event_count++] = event;
}

/* Its state says why, with the figures; what an I/O task last said of it belongs to that. */
static void end_by_policy(ControlJob *job, JobState state, const PolicyAction *action) {
    char reason[REFUSAL_TEXT_SIZE], why[JOB_WHY_SIZE];
    refusal_text_print(action, reason);
    const char *last = action->reason == POLICY_REASON_RETRIES ? job->status.waits_for : NULL;
    (void)snprintf(why, sizeof why, "%s%s%s", reason, last ? ": " : "", last ? last : "");
    control_want_state(job, state, why);
}

static void perform_on_job(ControlJob *job, const PolicyAction *action) {
    switch (action->kind) {
    case POLICY_ACTION_ACCEPT:
        job->known = true;
        break;
    case POLICY_ACTION_REFUSE:
        job->refusal = *action;
        if (job->stored_state != JOB_STATE_NONE) end_by_policy(job, JOB_STATE_SUSPENDED, action);
        break;
    case POLICY_ACTION_FAIL:
        job->known = false;
        control_discard_slice(job);
        end_by_policy(job, JOB_STATE_FAILED, action);
        control_job_settle(job);
        break;
    case POLICY_ACTION_RUN:
        control_run_job(job, (uint32_t)action->device, action->ns);
        break;
    case POLICY_ACTION_PREEMPT:
        control_tell_preempted(job);
        control_preempt_job(job);
        break;
    case POLICY_ACTION_MOVE_OUT:
        control_move_out(job, action->place);
        break;
    case POLICY_ACTION_MOVE_IN:
        control_move_in(job, (uint32_t)action->device, action->place);
        break;
    case POLICY_ACTION_GRANT:
        job->grant_bytes = action->bytes; /* the next slice has it */
        break;
    case POLICY_ACTION_SUSPENDED:
        control_rest(job);
        break;
    case POLICY_ACTION_RELEASE:
        job->known = false;
        control_discard_slice(job);
        control_leave(job);
        control_job_settle(job);
        break;
    case POLICY_ACTION_MISSED:
        control_tell_missed(job);
        break;
    case POLICY_ACTION_PROMISE:
        control_tell_promise(job, action->ns);
        break;
    case POLICY_ACTION_LOAD_WEIGHTS:
    case POLICY_ACTION_EVICT_WEIGHTS:
    case POLICY_ACTION_SET_TIMER:
    case POLICY_ACTION_KIND_COUNT:
        break;
    }
}

/* What is to be begun on a device that is lost: the policy takes it back when it learns of that. */
static bool is_void(const Control *control, const PolicyAction *action) {
    bool on_device =
        action->kind == POLICY_ACTION_RUN || action->kind == POLICY_ACTION_PREEMPT ||
        action->kind == POLICY_ACTION_MOVE_IN || action->kind == POLICY_ACTION_MOVE_OUT ||
        action->kind == POLICY_ACTION_LOAD_WEIGHTS || action->kind == POLICY_ACTION_EVICT_WEIGHTS;
    return on_device && action->device < control->device_count &&
           control->devices[action->device].lost;
}

static void perform(Control *control, const PolicyAction *action) {
    if (is_void(control, action)) return;
    if (action->kind == POLICY_ACTION_SET_TIMER)
        control->timer_ns = action->ns;
    else if (action->kind == POLICY_ACTION_LOAD_WEIGHTS)
        control_load_weights(control, action->model, (uint32_t)action->device);
    else if (action->kind == POLICY_ACTION_EVICT_WEIGHTS)
        control_evict_weights(control, action->model, (uint32_t)action->device);
    else {
        ControlJob *job = id_map_find(&control->by_number, 0, action->job);
        if (job) perform_on_job(job, action);
    }
}

/* What somebody asks for may come too late: the job has ended, or was asked the same before. Then
 * nothing has changed, and the state that comes first is the answer to whoever waits. */
static bool is_late(Control *control, const PolicyEvent *event, const Error *error) {
    if (error_code(error) != ERROR_CONFLICT && error_code(error) != ERROR_NOT_FOUND) return false;
    ControlJob *job = id_map_find(&control->by_number, 0, event->job);
    switch ((int)event->kind) {
    case POLICY_EVENT_RESUME_REQUESTED: /* it is stored as queued already */
        if (job) control_want_state(job, JOB_STATE_SUSPENDED, error_message(error));
        return true;
    case POLICY_EVENT_SUSPEND_REQUESTED:
    case POLICY_EVENT_CANCEL_REQUESTED:
    case POLICY_EVENT_CHECKPOINTED:
    case POLICY_EVENT_UNBLOCKED:
    case POLICY_EVENT_JOB_ESTIMATED: /* it was refused */
        return true;
    default:
        return false;
    }
}

void control_apply_events(Control *control) {
    if (control->draining || control->failed) control->event_count = 0; /* nothing is decided */
    for (size_t i = 0; i < control->event_count; i++) {
        const PolicyAction *actions; /* performing one posts events, but applies none */
        size_t count;
        PolicyEvent event = control->events[i];
        Error *error = policy_apply(control->policy, &event, &actions, &count);
        if (error && is_late(control, &event, error)) {
            error_free(error);
            continue;
        }
        if (error) {
            control_fail(
                control, error_wrap(error, "event %s", policy_event_infos[event.kind].name));
            break;
        }
        if (control->options.recorder)
            event_recorder_record(
                control->options.recorder, &event, policy_get_digest(control->policy));
        for (size_t a = 0; a < count; a++) perform(control, &actions[a]);
    }
    control->event_count = 0;
}

/* ---- the thread ---- */

static uint64_t earliest(uint64_t a, uint64_t b) { return a && (!b || a < b) ? a : b; }

static uint64_t next_of_device(const ControlDevice *device) {
    return earliest(device->slice_end_ns, device->running ? device->running->suspend_due_ns : 0);
}

static void set_timer(Control *control, int timer) {
    uint64_t next_ns = earliest(control->timer_ns, control->retry_ns);
    next_ns = earliest(control_devices_due_ns(control), next_ns);
    next_ns = earliest(control_aside_due_ns(control), next_ns);
    next_ns = earliest(control->late_ns, next_ns);
    for (uint32_t i = 0; i < control->device_count; i++)
        next_ns = earliest(next_of_device(&control->devices[i]), next_ns);
    if (control->draining) next_ns = earliest(control->grace_end_ns, next_ns);
    if (next_ns == control->timer_set_ns) return;
    control->timer_set_ns = next_ns;
    const struct itimerspec when = {.it_value = clock_timespec(next_ns)}; /* 0: none */
    (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void handle_time(Control *control) {
    uint64_t now_ns = control_now_ns();
    control_end_due_slices(control, now_ns);
    if (!control->draining) control_set_due_aside(control, now_ns);
    control_answer_late(control, now_ns);
    control_retry_commits(control, now_ns);
    if (control->timer_ns && now_ns >= control->timer_ns) {
        control->timer_ns = 0;
        control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_CLOCK});
    }
}

static Error *watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        FAIL(IO, "cannot wait for events: %s", strerror(errno));
    return NULL;
}

static Error *run(Control *control, int epoll, int timer) {
    if (epoll < 0 || timer < 0) FAIL(IO, "cannot wait for events: %s", strerror(errno));
    TRY(watch(epoll, control->queue.descriptor));
    TRY(watch(epoll, timer));
    while (!control->ending && !control->failed) {
        struct epoll_event ready[4];
        set_timer(control, timer);
        bool come =
            control->slice_end_asked && spin_until(&control->queue.filled, control->spin_ns);
        control->slice_end_asked = false;
        int count = come ? 0 : epoll_wait(epoll, ready, 4, -1);
        if (count < 0 && errno != EINTR) FAIL(IO, "cannot wait for events: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            uint64_t expired;
            if (ready[i].data.fd != timer) continue;
            (void)!read(timer, &expired, sizeof expired);
            control->timer_set_ns = 0;
        }
        message_queue_handle(&control->queue, control);
        handle_time(control);
        control_apply_events(control);
        control_settle_devices(control, control_now_ns());
        control_note_idle_devices(control);
        control_go_on_draining(control);
    }
    return NULL;
}

/* Its turns are short and everybody waits for them: a worker in the middle of a kernel gives way at
 * once instead of at the end of its milliseconds. Older kernels ignore the wish. */
static void ask_for_short_turns(void) {
    const struct { /* the kernel's sched_attr in its first version, which not every libc has */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime_ns = TURN_NS};
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void *thread_main(void *argument) {
    Control *control = argument;
    ask_for_short_turns();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    Error *error = run(control, epoll, timer);
    if (error) control_fail(control, error);
    control_serve_failed(control);
    if (epoll >= 0) (void)close(epoll);
    if (timer >= 0) (void)close(timer);
    return NULL;
}

/* ---- life ---- */

/* The policy's settings: a quarter of the host's memory for executions that wait in it. */
static Error *post_config(Control *control) {
    DeviceMemory memory;
    TRY(control->host->class_->memory(control->host, &memory));
    uint64_t bytes = memory.total_bytes / 4;
    uint64_t quantum_ns =
        control->options.quantum_ns ? control->options.quantum_ns : SECOND_NS / 100;
    control_post_event(control,
        (PolicyEvent){.kind = POLICY_EVENT_CONFIG,
            .quantum_ns = quantum_ns,
            .floor_permille = 50,
            .floor_window_ns = 10 * SECOND_NS,
            .swap_ns = SECOND_NS / 10,
            .host_bytes = bytes > CHECKPOINT_RESERVE_BYTES ? bytes - CHECKPOINT_RESERVE_BYTES : 0});
    return NULL;
}

static Error *start(Control *control) {
    const ControlOptions *options = &control->options;
    control->spin_ns = spin_limit_ns();
    if (options->metrics) TRY(control_declare_metrics(options->metrics));
    TRY(message_queue_init(&control->queue));
    TRY(device_open("cpu", &control->host));
    TRY(device_total_bytes(control->host, &control->host_bytes));
    TRY(policy_create(&control->policy));
    TRY(memory_alloc(1, sizeof(RunTimes), (void **)&control->run_times));
    TRY(io_pool_create(options->io_threads ? options->io_threads : 2, &control->io));
    const ResidentModelsOptions models = {.store = options->store,
        .host = control->host,
        .pool = options->pool,
        .images = options->images,
        .isolate = options->isolate,
        .idle_bytes_max = control->host_bytes / IDLE_MODELS_SHARE,
        .warn = options->warn};
    TRY(resident_models_create(&models, &control->models));
    TRY(post_config(control));
    for (uint32_t i = 0; i < options->device_count; i++)
        TRY(control_add_device(control, options->devices[i]));
    if (options->device_count == 0) TRY(control_add_device(control, "cpu"));
    TRY(control_recover(control));
    control_apply_events(control);
    TRY(control_check(control));
    if (!thread_start(&control->thread, "control", thread_main, control))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    control->thread_runs = true;
    return NULL;
}

Error *control_create(const ControlOptions *options, Control **out_control) {
    void *memory;
    if (options->device_count > CONTROL_DEVICES_MAX)
        FAIL(USAGE, "%u devices; %d at most", options->device_count, CONTROL_DEVICES_MAX);
    TRY(memory_alloc(1, sizeof(Control), &memory));
    OWN(Control, control) = memory;
    control->options = *options;
    (void)pthread_mutex_init(&control->status_mutex, NULL);
    (void)pthread_cond_init(&control->reader_done, NULL);
    TRY(start(control));
    *out_control = TAKE(control);
    return NULL;
}

static void handle_end(void *context, Message *message) {
    (void)message;
    Control *control = context;
    control->ending = true;
}

static void release_maps(Control *control) {
    for (size_t i = 0; i < control->by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->by_number.slots[i];
        if (job) control_job_free(job);
    }
    for (size_t i = 0; i < control->model_map.capacity; i++)
        memory_free(control->model_map.slots[i]);
    for (size_t i = 0; i < control->tenants.capacity; i++) memory_free(control->tenants.slots[i]);
    id_map_deinit(&control->by_number);
    id_map_deinit(&control->by_id);
    id_map_deinit(&control->model_map);
    id_map_deinit(&control->tenants);
}

static Error *do_nothing(Connection *catalog, void *context) {
    (void)catalog;
    (void)context;
    return NULL;
}

void control_release(Control *control) {
    if (!control) return;
    Message end = {.handle = handle_end};
    if (control->thread_runs) {
        message_queue_post(&control->queue, &end);
        (void)pthread_join(control->thread, NULL);
    }
    control->ending = true; /* nothing is begun any more by what still comes back */
    control_stop_slices(control, true);
    for (uint32_t i = 0; i < control->device_count; i++) worker_release(control->devices[i].worker);
    io_pool_release(control->io); /* runs what was posted */
    /* behind what was posted before; what comes back of it is the last that is handled */
    error_free(catalog_run(control->options.catalog, do_nothing, NULL));
    if (control->queue.last) message_queue_handle(&control->queue, control);
    release_maps(control);
    resident_models_destroy(control->models);
    for (uint32_t i = 0; i < control->device_count; i++) {
        device_close(control->devices[i].device);
        memory_free(control->devices[i].spec);
        memory_free(control->devices[i].determinism_class);
    }
    device_close(control->host);
    policy_release(control->policy);
    memory_free(control->run_times);
    memory_free(control->left);
    message_queue_deinit(&control->queue);
    memory_free(control->events);
    error_free(control->fatal);
    (void)pthread_cond_destroy(&control->reader_done);
    (void)pthread_mutex_destroy(&control->status_mutex);
    memory_free(control);
}

/* ---- what others may see ---- */

const char *control_get_left(const Control *control) { return control->left ? control->left : ""; }

const ControlOptions *control_options(const Control *control) { return &control->options; }

void control_update_status(ControlJob *job) {
    Control *control = job->control;
    (void)pthread_mutex_lock(&control->status_mutex);
    struct ControlJobStatus *status = &job->status;
    status->halted = job->stalled && !job->running;
    status->running = (job->open || job->running) && !status->halted;
    status->device = job->device;
    status->demanded = job->demanded;
    status->device_strings = job->model && job->model->device_strings;
    status->items_done = job->items_done;
    status->counters = job->counters;
    status->device_seconds = job->device_seconds_before + (double)job->device_ns * 1e-9;
    control_account_phase(job);
    (void)pthread_mutex_unlock(&control->status_mutex);
    if (control->options.changed && job->id.number)
        control->options.changed(control->options.listener, job->id);
}

bool control_find_ended(Control *control, JobId id, JobRunCounters *out_counters) {
    bool found = false;
    (void)pthread_mutex_lock(&control->status_mutex);
    for (uint64_t i = 1; i <= CONTROL_ENDED_MAX && i <= control->ended_count && !found; i++) {
        const struct ControlEnded *ended =
            &control->ended[(control->ended_count - i) % CONTROL_ENDED_MAX];
        found = job_id_equal(ended->job, id); /* the newest: a job may come back from a file */
        if (found) *out_counters = ended->counters;
    }
    (void)pthread_mutex_unlock(&control->status_mutex);
    return found;
}

void control_set_waiting(ControlJob *job, const char *words, const Error *error) {
    char *text = NULL;
    TextBuilder OWN_TEXT(builder) = {0};
    if (error) {
        text_appendf(&builder, "%s%s", words, error_message(error));
        error_free(text_builder_take(&builder, &text)); /* else nothing is shown */
    }
    (void)pthread_mutex_lock(&job->control->status_mutex);
    memory_free(job->status.waits_for);
    job->status.waits_for = text;
    (void)pthread_mutex_unlock(&job->control->status_mutex);
}

bool control_find_status(Control *control, JobId id, ControlStatus *out_status) {
    (void)pthread_mutex_lock(&control->status_mutex);
    struct ControlJobName *name = id_map_find(&control->by_id, id.node, id.number);
    if (name) {
        const struct ControlJobStatus *status = &name->job->status;
        *out_status = (ControlStatus){.running = status->running,
            .halted = status->halted,
            .items_done = status->items_done,
            .device_seconds = status->device_seconds,
            .counters = status->counters,
            .promised_end = status->promised_end};
        if (status->running)
            (void)snprintf(out_status->device, sizeof out_status->device, "%s",
                control->devices[status->device].name);
        bool waits = name->job->phase == CONTROL_PHASE_WAITING;
        const char *lost = waits ? control_awaited_device(control, status->demanded) : NULL;
        if (status->waits_for)
            (void)snprintf(out_status->why, sizeof out_status->why, "%s", status->waits_for);
        else if (lost)
            (void)snprintf(out_status->why, sizeof out_status->why,
                "waits for %s, which is lost, to come back", lost);
        else if (waits && status->device_strings && status->demanded != POLICY_NO_DEVICE)
            (void)snprintf(out_status->why, sizeof out_status->why,
                "waits for %s: the model has strings in slot 1; only cpu runs it",
                control->devices[status->demanded].name);
    }
    (void)pthread_mutex_unlock(&control->status_mutex);
    return name;
}
