#include "scheduler/control/requests/control_explain.h"

#include <stdio.h>
#include <time.h>

#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/slices/device_slice.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/policy_driver.h"

/* What people are told of a job that waits. Nothing here names another tenant, its jobs or its
 * models: kernels are called by their operator. */

static void append_time(TextBuilder *out, const Control *control, uint64_t since_ns) {
    const double ago_s = (double)(control_now_ns(control) - since_ns) * 1e-9;
    const time_t since = (time_t)(control_calendar_s(control) - ago_s);
    struct tm parts;
    char text[32] = "";
    if (gmtime_r(&since, &parts)) (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    text_appendf(out, " since %s", text);
}

static void append_kernel(TextBuilder *out, const ControlJob *holder) {
    if (!job_site_has_slice(&holder->site)) return;
    const LongKernel kernel = control_job_get_kernel(holder);
    if (!kernel.name) return;
    text_appendf(out, "; its kernel %s has computed for %.1f s", kernel.name,
        (double)kernel.computed_ns * 1e-9);
    if (kernel.usual_ns)
        text_appendf(out, ", of %.1f s that it took before", (double)kernel.usual_ns * 1e-9);
}

/* Why the job that has the device goes before the one that waits. */
static const char *order(const ControlJob *job, const ControlJob *holder) {
    if (holder->priority < job->priority) return "which goes first";
    if (holder->priority > job->priority) return "until its slice ends";
    return "whose turn it is by their shares";
}

static void append_holder(
    TextBuilder *out, const ControlJob *job, uint32_t index, const ControlJob *holder) {
    char name[JOB_ID_TEXT_SIZE];
    text_appendf(out, "%s, which runs ", control_device_facts(job->control, index)->name);
    if (holder->tenant == job->tenant) {
        job_id_print(holder->id, name);
        text_appendf(out, "job %s of class %s", name, policy_class_names[holder->priority]);
    } else {
        text_appendf(out, "another tenant's job of class %s", policy_class_names[holder->priority]);
    }
    append_time(out, job->control, control_held_since_ns(job->control, index));
    text_appendf(out, ", %s", order(job, holder));
    append_kernel(out, holder);
}

/* waits: the job has no memory on the device yet. */
static void append_device(TextBuilder *out, const ControlJob *job, uint32_t index, bool waits) {
    const Control *control = job->control;
    const ExecutorDevice *device = control_device_facts(control, index);
    const ControlJob *holder = control_job_get(control, control_find_holder(control, index));
    uint64_t needed = 0, left = 0;
    const bool known =
        policy_find_room(control_get_policy(control), job->number.low, index, &needed, &left);
    text_append(out, out->size ? "; for " : "waits for ");
    if (control_device_is_lost(control, index))
        text_appendf(out, "%s, which is lost, to come back", device->name);
    else if (waits && known && needed > left)
        text_appendf(out, "%llu bytes of memory of %s, which has %llu free",
            (unsigned long long)needed, device->name, (unsigned long long)left);
    else if (holder && holder != job && !job_storing_has_ended(&holder->pending.storing) &&
             job_site_is_open(&holder->site))
        append_holder(out, job, index, holder);
    else
        text_appendf(out, "its turn on %s", device->name);
}

static void append_devices(TextBuilder *out, const ControlJob *job, const PolicyWait *wait) {
    const Control *control = job->control;
    for (uint32_t i = 0; i < control_device_count(control); i++) {
        if (job->demanded != POLICY_NO_DEVICE && job->demanded != i) continue;
        if (control_device_facts(control, i)->memory_bytes >= wait->bytes)
            append_device(out, job, i, true);
    }
}

static void explain(const ControlJob *job, TextBuilder *out) {
    const Policy *policy = control_get_policy(job->control);
    PolicyJobView view;
    PolicyWait wait;
    if (!policy_find_job(policy, job->number.low, &view) ||
        !policy_find_wait(policy, job->number.low, &wait))
        return;
    const char *device =
        view.device != POLICY_NO_DEVICE && view.device < control_device_count(job->control)
            ? control_device_facts(job->control, view.device)->name
            : "a device";
    if (wait.over_bytes)
        text_appendf(out, "waits for the tenant's quota device_bytes: %llu wanted, %llu left",
            (unsigned long long)wait.bytes, (unsigned long long)wait.left);
    else if (job_site_is_busy(&job->site) || wait.weights)
        text_appendf(out, "its model, inputs or state are being loaded for %s", device);
    else if (wait.room)
        text_appendf(out, "waits for %llu bytes of memory of %s, which are being made free",
            (unsigned long long)wait.bytes, device);
    else if (view.state == POLICY_JOB_GROWING)
        text_appendf(out, "waits for %llu more bytes of memory of %s",
            (unsigned long long)wait.more_bytes, device);
    else if (view.state == POLICY_JOB_READY)
        append_device(out, job, (uint32_t)view.device, false);
    else if (view.state == POLICY_JOB_WAITING)
        append_devices(out, job, &wait);
}

void control_explain_wait(ControlJob *job, char out_why[JOB_WHY_SIZE]) {
    TextBuilder OWN_TEXT(text) = {0};
    explain(job, &text);
    (void)snprintf(out_why, JOB_WHY_SIZE, "%s", text.size ? text_builder_get(&text) : "");
}
