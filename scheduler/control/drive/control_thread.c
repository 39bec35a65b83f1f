#include "scheduler/control/control.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/slices/control_aside.h"
#include "scheduler/control/drive/control_core.h"
#include "scheduler/control/drive/control_loop.h"
#include "scheduler/control/state/control_internal.h"

uint64_t control_now_ns(const Control *control) { return clock_now_ns(control->ports.clock); }

double control_calendar_s(const Control *control) {
    return control->ports.clock.calendar_s(control->ports.clock.self);
}

void control_post(Control *control, Message *message) {
    control->ports.mailbox.post(control->ports.mailbox.self, message);
}

/* ---- life ---- */

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

/* ---- what others may see ---- */

const char *control_get_left(const Control *control) { return control->left ? control->left : ""; }

const ControlOptions *control_options(const Control *control) { return &control->options; }

void control_update_status(ControlJob *job) {
    Control *control = job->control;
    (void)pthread_mutex_lock(&control->status_mutex);
    struct ControlJobStatus *status = &job->account.status;
    const bool runs = job_site_is_running(&job->site);
    status->shown = job_storing_is_stalled(&job->pending.storing) && !runs ? JOB_SHOWN_HALTED
                    : job_site_is_open(&job->site) || runs                 ? JOB_SHOWN_RUNNING
                                                                           : JOB_SHOWN_QUEUED;
    status->device = job->site.device;
    status->demanded = job->demanded;
    status->items_done = job->slice.items_done;
    status->counters = job->slice.counters;
    status->device_seconds =
        job->account.device_seconds_before + (double)job->account.device_ns * 1e-9;
    control_account_phase(job);
    (void)pthread_mutex_unlock(&control->status_mutex);
    if (control->options.changed && job->id.number)
        control->options.changed(control->options.listener, job->id);
}

bool control_find_ended(Control *control, JobId id, JobRunCounters *out_counters) {
    bool found = false;
    (void)pthread_mutex_lock(&control->status_mutex);
    for (uint64_t i = 1; i <= CONTROL_ENDED_MAX && i <= control->jobs.ended_count && !found; i++) {
        const struct ControlEnded *ended =
            &control->jobs.ended[(control->jobs.ended_count - i) % CONTROL_ENDED_MAX];
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
    memory_free(job->account.status.waits_for);
    job->account.status.waits_for = text;
    (void)pthread_mutex_unlock(&job->control->status_mutex);
}

bool control_find_status(Control *control, JobId id, ControlStatus *out_status) {
    (void)pthread_mutex_lock(&control->status_mutex);
    struct ControlJobName *name = id_map_find(&control->jobs.by_id, id.node, id.number);
    if (name) {
        const struct ControlJobStatus *status = &name->job->account.status;
        *out_status = (ControlStatus){.running = status->shown == JOB_SHOWN_RUNNING,
            .halted = status->shown == JOB_SHOWN_HALTED,
            .items_done = status->items_done,
            .device_seconds = status->device_seconds,
            .counters = status->counters,
            .promised_end = status->promised_end};
        if (out_status->running)
            (void)snprintf(out_status->device, sizeof out_status->device, "%s",
                control->devices.items[status->device].facts.name);
        bool waits = name->job->account.phase == CONTROL_PHASE_WAITING;
        const char *lost = waits ? control_awaited_device(control, status->demanded) : NULL;
        if (status->waits_for)
            (void)snprintf(out_status->why, sizeof out_status->why, "%s", status->waits_for);
        else if (lost)
            (void)snprintf(out_status->why, sizeof out_status->why,
                "waits for %s, which is lost, to come back", lost);
        else if (waits && name->job->model->device_strings && status->demanded != POLICY_NO_DEVICE)
            (void)snprintf(out_status->why, sizeof out_status->why,
                "waits for %s: the model has strings in slot 1; only cpu runs it",
                control->devices.items[status->demanded].facts.name);
    }
    (void)pthread_mutex_unlock(&control->status_mutex);
    return name;
}
