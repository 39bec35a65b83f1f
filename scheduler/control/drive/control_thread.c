#include "scheduler/control/control.h"

#include "scheduler/control/adapters/control_executor.h"
#include "scheduler/control/adapters/control_store.h"
#include "scheduler/control/drive/control_core.h"
#include "scheduler/control/drive/control_loop.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"

static Error *make_ports(Control *control) {
    const ControlOptions *options = &control->options;
    ControlPorts *ports = &control->ports;
    TRY(control_loop_create(&control->loop));
    ports->clock = clock_real();
    ports->mailbox = control_loop_get_mailbox(control->loop);
    TRY(control_executor_create(options, ports->mailbox, &control->executor));
    ports->executor = control_executor_get_port(control->executor);
    TRY(control_store_create(options, control->executor->io, ports->mailbox, &control->store));
    ports->store = control_store_get_port(control->store);
    return NULL;
}

Error *control_create(const ControlOptions *options, Control **out_control) {
    OWN(Control, control) = NULL;
    if (options->device_count > CONTROL_DEVICES_MAX)
        FAIL(USAGE, "%u devices; %d at most", options->device_count, CONTROL_DEVICES_MAX);
    TRY(control_core_create(options, &control));
    TRY(make_ports(control));
    TRY(control_core_begin(control));
    TRY(control_loop_start(control->loop, control));
    *out_control = TAKE(control);
    return NULL;
}

void control_help(Control *control, bool lends) {
    WorkerSlice *slice = NULL;
    if (!control->loop) return; /* a test drives the logic */
    control_loop_help(control->loop, lends ? &slice : NULL);
    if (slice) worker_run(slice);
}

void control_release(Control *control) {
    if (!control) return;
    ControlLoop *loop = control->loop;
    ControlExecutor *executor = control->executor;
    ControlStore *store = control->store;
    control_loop_stop(loop);
    /* nothing is begun any more by what still comes back */
    control_step_life(control, CONTROL_LIFE_EVENT_END);
    control_stop_slices(control, true);
    control_executor_finish(executor);
    /* behind what was posted before; what comes back of it is the last that is handled */
    control_store_finish(store);
    control_loop_handle_rest(loop, control);
    control_core_release(control);
    control_executor_release(executor);
    control_store_release(store);
    control_loop_release(loop);
}

const ControlOptions *control_options(const Control *control) { return &control->options; }
