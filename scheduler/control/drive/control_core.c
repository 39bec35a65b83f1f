#include "scheduler/control/drive/control_core.h"

#include "base/allocator.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/state/control_internal.h"

/* What a tenant's suspended executions may not take of the host's memory. */
#define CHECKPOINT_RESERVE_BYTES ((uint64_t)64 << 20)

static uint64_t earliest(uint64_t a, uint64_t b) { return a && (!b || a < b) ? a : b; }

static uint64_t next_of_device(const ControlDevice *device) {
    return earliest(device->slice.end_ns,
        device->slice.running ? control_suspend_due_ns(device->slice.running) : 0);
}

uint64_t control_core_due_ns(const Control *control) {
    uint64_t next_ns = earliest(control->timer_ns, control->retry_ns);
    next_ns = earliest(control_devices_due_ns(control), next_ns);
    next_ns = earliest(control_aside_due_ns(control), next_ns);
    next_ns = earliest(control->late_ns, next_ns);
    for (uint32_t i = 0; i < control->devices.count; i++)
        next_ns = earliest(next_of_device(&control->devices.items[i]), next_ns);
    if (control_life_drains(&control->life)) next_ns = earliest(control->grace_end_ns, next_ns);
    return next_ns;
}

static void handle_time(Control *control) {
    uint64_t now_ns = control_now_ns(control);
    control_end_due_slices(control, now_ns);
    if (!control_life_drains(&control->life)) control_set_due_aside(control, now_ns);
    control_answer_late(control, now_ns);
    control_retry_commits(control, now_ns);
    if (control->timer_ns && now_ns >= control->timer_ns) {
        control->timer_ns = 0;
        control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_CLOCK});
    }
}

void control_core_turn(Control *control) {
    handle_time(control);
    control_apply_events(control);
    control_settle_devices(control, control_now_ns(control));
    control_note_idle_devices(control);
    control_go_on_draining(control);
}

bool control_core_take_hurry(Control *control) {
    const bool hurries = control->slice_end_asked;
    control->slice_end_asked = false;
    return hurries;
}

bool control_core_is_over(const Control *control) { return control_life_is_over(&control->life); }

/* ---- life ---- */

/* The policy's settings: a quarter of the host's memory for executions that wait in it. */
static void post_config(Control *control) {
    const uint64_t bytes = control->ports.executor.host_bytes / 4;
    uint64_t quantum_ns =
        control->options.quantum_ns ? control->options.quantum_ns : SECOND_NS / 100;
    control_post_event(control,
        (PolicyEvent){.kind = POLICY_EVENT_CONFIG,
            .quantum_ns = quantum_ns,
            .floor_permille = 50,
            .floor_window_ns = 10 * SECOND_NS,
            .swap_ns = SECOND_NS / 10,
            .host_bytes = bytes > CHECKPOINT_RESERVE_BYTES ? bytes - CHECKPOINT_RESERVE_BYTES : 0});
}

Error *control_core_create(const ControlOptions *options, Control **out_control) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Control), &memory));
    Control *control = memory;
    control->options = *options;
    (void)pthread_mutex_init(&control->status_mutex, NULL);
    *out_control = control;
    return NULL;
}

Error *control_core_begin(Control *control) {
    const ControlOptions *options = &control->options;
    if (options->metrics) TRY(control_declare_metrics(options->metrics));
    TRY(policy_create(&control->policy));
    TRY(memory_alloc(1, sizeof(RunTimes), (void **)&control->run_times));
    post_config(control);
    for (uint32_t i = 0; i < options->device_count; i++)
        TRY(control_add_device(control, options->devices[i]));
    if (options->device_count == 0) TRY(control_add_device(control, "cpu"));
    TRY(control_recover(control));
    control_apply_events(control);
    TRY(control_check(control));
    control_step_life(control, CONTROL_LIFE_EVENT_SERVE);
    return NULL;
}

static void release_maps(Control *control) {
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (job) control_job_free(job);
    }
    for (size_t i = 0; i < control->jobs.models.capacity; i++)
        memory_free(control->jobs.models.slots[i]);
    for (size_t i = 0; i < control->jobs.tenants.capacity; i++)
        memory_free(control->jobs.tenants.slots[i]);
    id_map_deinit(&control->jobs.by_number);
    id_map_deinit(&control->jobs.by_id);
    id_map_deinit(&control->jobs.models);
    id_map_deinit(&control->jobs.tenants);
}

void control_core_release(Control *control) {
    if (!control) return;
    release_maps(control);
    policy_release(control->policy);
    memory_free(control->run_times);
    memory_free(control->left);
    memory_free(control->events);
    error_free(control->fatal);
    (void)pthread_mutex_destroy(&control->status_mutex);
    memory_free(control);
}
