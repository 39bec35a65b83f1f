#include "scheduler/control/adapters/control_drivers.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/registry/device_registry.h"
#include "kernels/registry/device_speed.h"

static Error *describe(ControlDriver *driver) {
    TextBuilder OWN_TEXT(text) = {0};
    (void)snprintf(driver->name, sizeof driver->name, "%s", driver->device->name);
    (void)snprintf(driver->kind, sizeof driver->kind, "%s", driver->device->class_->kind);
    driver->host_memory = driver->device->class_->host_memory;
    driver->device->class_->determinism_class(driver->device, &text);
    return text_builder_take(&text, &driver->determinism_class);
}

/* The options of a SPEC. Devices of one kind and class with the same options are equally fast. */
static const char *spec_options(const char *spec) {
    const char *comma = strchr(spec, ',');
    return comma ? comma : "";
}

static bool are_alike(const ControlDriver *a, const ControlDriver *b) {
    return strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->determinism_class, b->determinism_class) == 0 &&
           strcmp(spec_options(a->spec), spec_options(b->spec)) == 0;
}

/* Measures on an opening of its own, so that nothing of the measuring stays on the device. */
static Error *measure(ControlDrivers *drivers, ControlDriver *driver) {
    OWN(Device, opened) = NULL;
    for (const ControlDriver *other = drivers->items; other < driver; other++)
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
    ControlDrivers *drivers, const char *spec, bool measures, ExecutorDevice *out_device) {
    ControlDriver *driver = &drivers->items[drivers->count];
    uint64_t bytes;
    TRY(device_spec_apart(spec, &driver->spec));
    drivers->count++;
    TRY(device_open(driver->spec, &driver->device));
    TRY(describe(driver));
    if (measures) TRY_WRAP(measure(drivers, driver), "--device %s", spec);
    for (const ControlDriver *other = drivers->items; other < driver; other++)
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

/* Waits for the threads that read the device's memory; no other thread begins to. */
void control_drivers_close(ControlDrivers *drivers, uint32_t index) {
    ControlDriver *driver = &drivers->items[index];
    (void)pthread_mutex_lock(&drivers->mutex);
    Device *device = TAKE(driver->device);
    while (driver->readers > 0) (void)pthread_cond_wait(&drivers->reader_done, &drivers->mutex);
    (void)pthread_mutex_unlock(&drivers->mutex);
    device_close(device);
}

Error *control_drivers_open(ControlDrivers *drivers, uint32_t index, uint64_t *out_bytes) {
    ControlDriver *driver = &drivers->items[index];
    OWN(Device, device) = NULL;
    TRY(device_open(driver->spec, &device));
    TRY(device_total_bytes(device, out_bytes));
    (void)pthread_mutex_lock(&drivers->mutex);
    driver->device = TAKE(device);
    (void)pthread_mutex_unlock(&drivers->mutex);
    return NULL;
}

/* Keeps the device open until end_reading. NULL: the device is closed. */
static Device *begin_reading(ControlDrivers *drivers, ControlDriver *driver) {
    (void)pthread_mutex_lock(&drivers->mutex);
    Device *device = driver->device;
    if (device) driver->readers++;
    (void)pthread_mutex_unlock(&drivers->mutex);
    return device;
}

static void end_reading(ControlDrivers *drivers, ControlDriver *driver) {
    (void)pthread_mutex_lock(&drivers->mutex);
    driver->readers--;
    (void)pthread_cond_broadcast(&drivers->reader_done);
    (void)pthread_mutex_unlock(&drivers->mutex);
}

/* The device is asked without the mutex, since it may take its time to answer. */
Error *control_drivers_get_memory(
    ControlDrivers *drivers, uint32_t index, DeviceMemory *out_memory) {
    ControlDriver *driver = &drivers->items[index];
    Device *device = begin_reading(drivers, driver);
    if (!device) FAIL(DEVICE_LOST, "%s is closed", driver->name);
    Error *error = device->class_->memory(device, out_memory);
    end_reading(drivers, driver);
    return error;
}

void control_drivers_init(ControlDrivers *drivers) {
    (void)pthread_mutex_init(&drivers->mutex, NULL);
    (void)pthread_cond_init(&drivers->reader_done, NULL);
}

void control_drivers_deinit(ControlDrivers *drivers) {
    for (uint32_t i = 0; i < CONTROL_DEVICES_MAX; i++) {
        ControlDriver *driver = &drivers->items[i];
        device_close(driver->device);
        memory_free(driver->spec);
        memory_free(driver->determinism_class);
    }
    (void)pthread_cond_destroy(&drivers->reader_done);
    (void)pthread_mutex_destroy(&drivers->mutex);
}
