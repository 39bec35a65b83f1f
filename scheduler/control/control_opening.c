#include "base/container_of.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/control/control_internal.h"

/* ---- on an I/O thread ---- */

/* Nobody asks it for anything any more; whoever has begun to is waited for. */
static void close_old(ControlDevice *device) {
    Control *control = device->opening.control;
    (void)pthread_mutex_lock(&control->status_mutex);
    while (device->readers > 0)
        (void)pthread_cond_wait(&control->reader_done, &control->status_mutex);
    (void)pthread_mutex_unlock(&control->status_mutex);
    device_close(device->opening.device);
    device->opening.device = NULL;
}

static void run_closing(IoTask *task) {
    ControlDevice *device = CONTAINER_OF(task, ControlDevice, opening.task);
    close_old(device);
    control_post(device->opening.control, &device->opening.message);
}

static Error *open_new(const char *spec, Device **out, uint64_t *out_bytes) {
    OWN(Device, device) = NULL;
    TRY(device_open(spec, &device));
    TRY(device_total_bytes(device, out_bytes));
    *out = TAKE(device);
    return NULL;
}

static void run_opening(IoTask *task) {
    ControlDevice *device = CONTAINER_OF(task, ControlDevice, opening.task);
    ControlOpening *opening = &device->opening;
    opening->error = open_new(device->spec, &opening->device, &opening->bytes);
    control_post(opening->control, &opening->message);
}

/* ---- on the control thread ---- */

static void handle(void *context, Message *message) {
    Control *control = context;
    ControlDevice *device = CONTAINER_OF(message, ControlDevice, opening.message);
    ControlOpening *opening = &device->opening;
    bool opened = opening->opens;
    opening->busy = false;
    control->in_flight--;
    if (!opened) return;
    control_opened_device(
        control, device, TAKE(opening->device), opening->bytes, TAKE(opening->error));
}

static void post(Control *control, ControlDevice *device, void (*run)(IoTask *task)) {
    ControlOpening *opening = &device->opening;
    opening->control = control;
    opening->busy = true;
    opening->opens = run == run_opening;
    opening->task.run = run;
    opening->message.handle = handle;
    control->in_flight++;
    io_pool_post(control->io, &opening->task);
}

void control_close_device(Control *control, ControlDevice *device) {
    (void)pthread_mutex_lock(&control->status_mutex);
    device->opening.device = TAKE(device->device);
    (void)pthread_mutex_unlock(&control->status_mutex);
    post(control, device, run_closing);
}

void control_open_device(Control *control, ControlDevice *device) {
    post(control, device, run_opening);
}
