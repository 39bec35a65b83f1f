#include "scheduler/control/control.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/control/control_accounts.h"
#include "scheduler/control/control_aside.h"
#include "scheduler/control/control_internal.h"

enum { IDLE_MODELS_SHARE = 8 }; /* of the host's memory for models that nothing needs just now */
/* What a tenant's suspended executions may not take of the host's memory. */
#define CHECKPOINT_RESERVE_BYTES ((uint64_t)64 << 20)

uint64_t control_now_ns(const Control *control) { return clock_now_ns(control->ports.clock); }

double control_calendar_s(const Control *control) {
    return control->ports.clock.calendar_s(control->ports.clock.self);
}

void control_post(Control *control, Message *message) {
    control->ports.mailbox.post(control->ports.mailbox.self, message);
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
    if (options->metrics) TRY(control_declare_metrics(options->metrics));
    TRY(control_loop_create(&control->loop));
    control->ports =
        (ControlPorts){.clock = clock_real(), .mailbox = control_loop_get_mailbox(control->loop)};
    TRY(device_open("cpu", &control->host));
    TRY(device_total_bytes(control->host, &control->host_bytes));
    TRY(policy_create(&control->policy));
    TRY(memory_alloc(1, sizeof(RunTimes), (void **)&control->run_times));
    TRY(io_pool_create(options->io_threads ? options->io_threads : 2, &control->io));
    TRY(control_store_create(options, control->io, control->ports.mailbox, &control->store));
    control->ports.store = control_store_get_port(control->store);
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
    return control_loop_start(control->loop, control);
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

void control_release(Control *control) {
    if (!control) return;
    control_loop_stop(control->loop);
    control->ending = true; /* nothing is begun any more by what still comes back */
    control_stop_slices(control, true);
    for (uint32_t i = 0; i < control->device_count; i++) worker_release(control->devices[i].worker);
    io_pool_release(control->io); /* runs what was posted */
    /* behind what was posted before; what comes back of it is the last that is handled */
    control_store_finish(control->store);
    control_loop_handle_rest(control->loop, control);
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
    control_store_release(control->store);
    control_loop_release(control->loop);
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
    const bool runs = job_site_is_running(&job->site);
    status->halted = job_storing_is_stalled(&job->storing) && !runs;
    status->running = (job_site_is_open(&job->site) || runs) && !status->halted;
    status->device = job->site.device;
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
