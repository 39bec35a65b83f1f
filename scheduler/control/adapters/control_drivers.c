#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/registry/device_registry.h"
#include "kernels/registry/device_speed.h"
#include "scheduler/control/adapters/control_executor.h"

/* The devices of an executor: opened, measured, closed and opened anew. */

static Error *describe(ControlDriver *driver) {
    TextBuilder OWN_TEXT(text) = {0};
    (void)snprintf(driver->name, sizeof driver->name, "%s", driver->device->name);
    (void)snprintf(driver->kind, sizeof driver->kind, "%s", driver->device->class_->kind);
    driver->host_memory = driver->device->class_->host_memory;
    driver->device->class_->determinism_class(driver->device, &text);
    return text_builder_take(&text, &driver->determinism_class);
}

/* What a SPEC says beside the index: devices of one model and the same options are equally fast. */
static const char *spec_options(const char *spec) {
    const char *comma = strchr(spec, ',');
    return comma ? comma : "";
}

static bool are_alike(const ControlDriver *a, const ControlDriver *b) {
    return strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->determinism_class, b->determinism_class) == 0 &&
           strcmp(spec_options(a->spec), spec_options(b->spec)) == 0;
}

/* On an opening of its own, so that what the measuring does to a device is gone with it. */
static Error *measure(ControlExecutor *executor, ControlDriver *driver) {
    OWN(Device, opened) = NULL;
    for (const ControlDriver *other = executor->drivers; other < driver; other++)
        if (are_alike(other, driver)) {
            driver->speed = other->speed;
            return NULL;
        }
    TRY(device_open(driver->spec, &opened));
    Error *error = device_speed_measure(opened, &driver->speed);
    ErrorCode code = error_code(error);
    if (code != ERROR_FAILED && code != ERROR_DEVICE_LOST) return error;
    error_free(error); /* that is noticed, and dealt with, when jobs run there */
    return NULL;
}

Error *control_drivers_add(
    ControlExecutor *executor, const char *spec, bool measures, ExecutorDevice *out_device) {
    ControlDriver *driver = &executor->drivers[executor->driver_count];
    uint64_t bytes;
    TRY(device_spec_apart(spec, &driver->spec));
    executor->driver_count++;
    TRY(device_open(driver->spec, &driver->device));
    TRY(describe(driver));
    if (measures) TRY_WRAP(measure(executor, driver), "--device %s", spec);
    for (const ControlDriver *other = executor->drivers; other < driver; other++)
        if (strcmp(other->name, driver->name) == 0)
            FAIL(USAGE, "--device %s: there is a %s already", spec, driver->name);
    TRY(worker_create(driver->name, &driver->worker));
    TRY(device_total_bytes(driver->device, &bytes));
    *out_device = (ExecutorDevice){.name = driver->name,
        .kind = driver->kind,
        .determinism_class = driver->determinism_class,
        .host_memory = driver->host_memory,
        .memory_bytes = bytes,
        .speed = driver->speed};
    return NULL;
}

/* Nobody asks it for anything any more; whoever has begun to is waited for. */
void control_drivers_close(ControlExecutor *executor, uint32_t index) {
    ControlDriver *driver = &executor->drivers[index];
    (void)pthread_mutex_lock(&executor->mutex);
    Device *device = TAKE(driver->device);
    while (driver->readers > 0) (void)pthread_cond_wait(&executor->reader_done, &executor->mutex);
    (void)pthread_mutex_unlock(&executor->mutex);
    device_close(device);
}

Error *control_drivers_open(ControlExecutor *executor, uint32_t index, uint64_t *out_bytes) {
    ControlDriver *driver = &executor->drivers[index];
    OWN(Device, device) = NULL;
    TRY(device_open(driver->spec, &device));
    TRY(device_total_bytes(device, out_bytes));
    (void)pthread_mutex_lock(&executor->mutex);
    driver->device = TAKE(device);
    (void)pthread_mutex_unlock(&executor->mutex);
    return NULL;
}

/* The device, which is not closed before the end of it; NULL: it is closed. */
static Device *begin_reading(ControlExecutor *executor, ControlDriver *driver) {
    (void)pthread_mutex_lock(&executor->mutex);
    Device *device = driver->device;
    if (device) driver->readers++;
    (void)pthread_mutex_unlock(&executor->mutex);
    return device;
}

static void end_reading(ControlExecutor *executor, ControlDriver *driver) {
    (void)pthread_mutex_lock(&executor->mutex);
    driver->readers--;
    (void)pthread_cond_broadcast(&executor->reader_done);
    (void)pthread_mutex_unlock(&executor->mutex);
}

/* Without the mutex: a device may let itself be waited for. */
Error *control_drivers_get_memory(
    ControlExecutor *executor, uint32_t index, DeviceMemory *out_memory) {
    ControlDriver *driver = &executor->drivers[index];
    Device *device = begin_reading(executor, driver);
    if (!device) FAIL(DEVICE_LOST, "%s is closed", driver->name);
    Error *error = device->class_->memory(device, out_memory);
    end_reading(executor, driver);
    return error;
}

void control_drivers_deinit(ControlExecutor *executor) {
    for (uint32_t i = 0; i < CONTROL_DEVICES_MAX; i++) {
        ControlDriver *driver = &executor->drivers[i];
        device_close(driver->device);
        memory_free(driver->spec);
        memory_free(driver->determinism_class);
    }
}
