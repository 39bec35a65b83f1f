#include "scheduler/control/jobs/control_status.h"

#include <stdio.h>

#include "base/allocator.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/job_models.h"

void control_update_status(ControlJob *job) {
    Control *control = job->control;
    control_lock(control);
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
    control_unlock(control);
    if (control->options.changed && job->id.number && !job->transient)
        control->options.changed(control->options.listener, job->id);
}

void control_set_waiting(ControlJob *job, const char *words, const Error *error) {
    char *text = NULL;
    TextBuilder OWN_TEXT(builder) = {0};
    if (error) {
        text_appendf(&builder, "%s%s", words, error_message(error));
        error_free(text_builder_take(&builder, &text)); /* else nothing is shown */
    }
    control_lock(job->control);
    memory_free(job->account.status.waits_for);
    job->account.status.waits_for = text;
    control_unlock(job->control);
}

bool control_find_status(Control *control, JobId id, ControlStatus *out_status) {
    control_lock(control);
    struct ControlJobName *name = id_map_find(&control->jobs->by_id, id.node, id.number);
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
                control_device_facts(control, status->device)->name);
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
                control_device_facts(control, status->demanded)->name);
    }
    control_unlock(control);
    return name;
}
