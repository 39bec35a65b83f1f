#include "scheduler/control/devices/control_place.h"

#include "scheduler/control/control.h"
#include "scheduler/control/jobs/control_commits.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/job_models.h"

static Error *require_device(const ControlJob *job, uint64_t *inout_device) {
    const Control *control = job->control;
    if (!job->model->device_strings) return NULL;
    if (*inout_device != POLICY_NO_DEVICE) {
        const ExecutorDevice *device = control_device_facts(control, *inout_device);
        if (device->host_memory) return NULL;
        FAIL(UNSUPPORTED, "%s cannot run this model: it has strings in slot 1; only cpu runs it",
            device->name);
    }
    for (uint32_t i = 0; i < control_device_count(control); i++)
        if (control_device_facts(control, i)->host_memory) {
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
