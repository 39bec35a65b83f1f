#include "scheduler/control/drive/control_core.h"

#include "base/allocator.h"
#include "base/duration.h"
#include "scheduler/control/devices/device_losses.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_waiters.h"
#include "scheduler/control/requests/control_drain.h"
#include "scheduler/control/requests/control_recovery.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/slices/control_decisions.h"
#include "scheduler/control/slices/control_slices.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/control_tenants.h"
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/job_check.h"
#include "scheduler/control/state/job_models.h"
#include "scheduler/control/state/policy_driver.h"

/* Host memory that executions which wait in it leave free for checkpoints. */
#define CHECKPOINT_RESERVE_BYTES ((uint64_t)64 << 20)

uint64_t control_core_due_ns(const Control *control) {
    uint64_t next_ns =
        control_earlier_ns(control_clock_due_ns(control), control_retry_due_ns(control));
    next_ns = control_earlier_ns(control_devices_due_ns(control), next_ns);
    next_ns = control_earlier_ns(control_aside_due_ns(control), next_ns);
    next_ns = control_earlier_ns(control_late_due_ns(control), next_ns);
    next_ns = control_earlier_ns(control_slices_due_ns(control), next_ns);
    return control_earlier_ns(control_drain_due_ns(control), next_ns);
}

static void handle_time(Control *control) {
    uint64_t now_ns = control_now_ns(control);
    control_end_due_slices(control, now_ns);
    if (!control_life_drains(&control->life)) control_set_due_aside(control, now_ns);
    control_answer_late(control, now_ns);
    control_retry_commits(control, now_ns);
    control_post_clock(control, now_ns);
}

static void check_jobs(Control *control) {
    size_t at = 0;
    for (ControlJob *job; (job = control_jobs_next(control, &at));) {
        Error *error = control_job_check(job);
        if (error) control_fail(control, error);
    }
}

void control_core_turn(Control *control) {
    handle_time(control);
    control_apply_events(control);
    control_settle_devices(control, control_now_ns(control));
    control_apply_events(control);
    control_note_idle_devices(control);
    control_go_on_draining(control);
    if (control->options.checks_jobs) check_jobs(control);
}

bool control_core_is_over(const Control *control) { return control_life_is_over(&control->life); }

/* ---- life ---- */

/* Posts the policy's settings. Executions that wait in host memory may have a quarter of it. */
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

/* The logic and its parts, in one piece of memory. */
typedef struct ControlParts {
    Control control; /* first: control_core_release frees the whole */
    ControlShared shared;
    PolicyDriver driver;
    ControlOrders orders;
    JobTable jobs;
    JobModels models;
    TenantTable tenants;
    DeviceTable devices;
    JobAccounts accounts;
    ControlWaits waits;
    CommitQueue commits;
    ControlDrain drain;
} ControlParts;

Error *control_core_create(const ControlOptions *options, Control **out_control) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlParts), &memory));
    ControlParts *parts = memory;
    parts->control = (Control){.options = *options,
        .shared = &parts->shared,
        .driver = &parts->driver,
        .orders = &parts->orders,
        .jobs = &parts->jobs,
        .models = &parts->models,
        .tenants = &parts->tenants,
        .devices = &parts->devices,
        .accounts = &parts->accounts,
        .waits = &parts->waits,
        .commits = &parts->commits,
        .drain = &parts->drain};
    control_shared_init(&parts->shared);
    *out_control = &parts->control;
    return NULL;
}

Error *control_core_begin(Control *control) {
    const ControlOptions *options = &control->options;
    if (options->metrics) TRY(control_declare_metrics(options->metrics));
    TRY(policy_driver_init(control->driver));
    TRY(job_accounts_init(control->accounts));
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

void control_core_release(Control *control) {
    if (!control) return;
    job_table_deinit(control->jobs);
    job_models_deinit(control->models);
    tenant_table_deinit(control->tenants);
    policy_driver_deinit(control->driver);
    job_accounts_deinit(control->accounts);
    control_drain_deinit(control->drain);
    control_shared_deinit(control->shared);
    memory_free(control);
}
