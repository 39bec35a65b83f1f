#pragma once
/* The devices of a node: opened, measured, closed and opened again. For control_executor.c: on the
 * control thread, and on I/O threads where a function says so. */
#include <pthread.h>

#include "scheduler/control/control.h"
#include "scheduler/control/control_ports.h"

/* A device, and what the process has open of it. */
typedef struct ControlDriver {
    char *spec; /* with which the device is opened */
    char name[DEVICE_NAME_MAX];
    char kind[DEVICE_NAME_MAX];
    char *determinism_class; /* as text; made when the device was first opened */
    bool host_memory;
    uint64_t speed;   /* measured when the device was first opened; 0: not measured */
    Device *device;   /* NULL: closed. Guarded by the mutex, as is the next */
    uint32_t readers; /* threads that ask the device for its memory */
    Worker *worker;
} ControlDriver;

typedef struct ControlDrivers {
    ControlDriver items[CONTROL_DEVICES_MAX];
    uint32_t count;
    pthread_mutex_t mutex;
    pthread_cond_t reader_done; /* a thread has read a device's memory */
} ControlDrivers;

void control_drivers_init(ControlDrivers *drivers);
void control_drivers_deinit(ControlDrivers *drivers);
/* Opens one more device, as ControlExecutorPort.add_device. */
MUST_CHECK Error *control_drivers_add(
    ControlDrivers *drivers, const char *spec, bool measures, ExecutorDevice *out_device);
/* Asks a device for its memory, as ControlExecutorPort.get_memory. Threads: any. */
MUST_CHECK Error *control_drivers_get_memory(
    ControlDrivers *drivers, uint32_t index, DeviceMemory *out_memory);
/* Closes a device. Waits for the threads that read its memory. Threads: I/O, as the next one. */
void control_drivers_close(ControlDrivers *drivers, uint32_t index);
/* Opens a device that was closed. */
MUST_CHECK Error *control_drivers_open(
    ControlDrivers *drivers, uint32_t index, uint64_t *out_bytes);
