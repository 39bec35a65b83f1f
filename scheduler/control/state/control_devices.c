#include "scheduler/control/state/control_devices.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/control/state/control_accounts.h"
#include "scheduler/control/state/control_orders.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_steps.h"
#include "scheduler/control/state/policy_driver.h"

Error *control_find_device(const Control *control, const char *name, uint64_t *out_device) {
    *out_device = POLICY_NO_DEVICE;
    if (!name || !name[0]) return NULL;
    for (uint32_t i = 0; i < control->devices->count; i++)
        if (strcmp(control->devices->items[i].facts.name, name) == 0) {
            *out_device = i;
            return NULL;
        }
    FAIL(NOT_FOUND, "there is no device %s here", name);
}

const ControlDevice *control_find_cpu(const Control *control, uint32_t *out_index) {
    for (uint32_t i = 0; i < control->devices->count; i++)
        if (strcmp(control->devices->items[i].facts.kind, "cpu") == 0) {
            *out_index = i;
            return &control->devices->items[i];
        }
    return NULL;
}

const ExecutorDevice *control_device_facts(const Control *control, uint64_t index) {
    return &control->devices->items[index].facts;
}

bool control_device_is_lost(const Control *control, uint64_t index) {
    return device_presence_is_lost(&control->devices->items[index].presence);
}

void control_begin_use(Control *control, uint32_t index) {
    control->devices->items[index].in_flight++;
}

void control_end_use(Control *control, uint32_t index) {
    control->devices->items[index].in_flight--;
}

/* ---- devices that come ---- */

void control_tell_device_added(Control *control, uint32_t index, uint64_t bytes) {
    ControlDevice *device = &control->devices->items[index];
    control_lock(control);
    device->facts.memory_bytes = bytes;
    control_unlock(control);
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
    const uint32_t index = control->devices->count;
    ControlDevice *device = &control->devices->items[index];
    TRY(executor->add_device(
        executor->self, spec, control->options.device_count > 1, &device->facts));
    control->devices->count++;
    control_tell_device_added(control, index, device->facts.memory_bytes);
    return NULL;
}

/* ---- devices that are lost ---- */

void control_warn_of_device(const Control *control, const ControlDevice *device, const char *what) {
    char text[256];
    if (!control->options.warn) return;
    (void)snprintf(text, sizeof text, "device %s %s", device->facts.name, what);
    control->options.warn(NULL, text);
}

void control_lose_device(Control *control, uint32_t index) {
    ControlDevice *device = &control->devices->items[index];
    if (device_presence_is_lost(&device->presence)) return;
    control_step_presence(control, device, DEVICE_PRESENCE_EVENT_LOSE);
    if (device->slice.running) control_request_slice(device->slice.running, EXECUTOR_ABANDON, 0);
    control_count(control, METRIC_DEVICE_LOSSES, 0, 1);
    control_warn_of_device(
        control, device, "is lost; its jobs go on from their checkpoints when there is a device");
}

/* ---- what other threads are shown ---- */

void control_note_idle_devices(Control *control) {
    for (uint32_t i = 0; i < control->devices->count; i++)
        if (!control->devices->items[i].slice.running)
            control->devices->items[i].slice.last_end_ns = 0;
}

const char *control_awaited_device(const Control *control, uint64_t demanded) {
    const char *lost = NULL;
    for (uint32_t i = 0; i < control->devices->count; i++) {
        if (demanded != POLICY_NO_DEVICE && demanded != i) continue;
        if (!device_presence_is_lost(&control->devices->items[i].presence)) return NULL;
        lost = control->devices->items[i].facts.name;
    }
    return lost;
}

const char *control_find_class(const Control *control, const char *device) {
    for (uint32_t i = 0; i < control->devices->count; i++)
        if (strcmp(control->devices->items[i].facts.name, device) == 0)
            return control->devices->items[i].facts.determinism_class;
    return NULL;
}

uint32_t control_device_count(const Control *control) { return control->devices->count; }

/* Called without the status mutex, since a device may take its time to answer. */
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
    ControlDevice *device = &control->devices->items[index];
    control_lock(control);
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
    control_unlock(control);
    return lost ? NULL : get_memory(control, index, out_status);
}
