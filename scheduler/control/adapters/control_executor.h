#pragma once
/* What runs the jobs of a daemon: the executor port of control_ports.h over workers, I/O threads,
 * models in memory and devices. Used by control.c; control_arrival.c and control_models.c, which
 * open models on threads of their own, look into it, too. */
#include <pthread.h>

#include "scheduler/control/control.h"
#include "scheduler/control/control_ports.h"
#include "scheduler/executor/io_pool.h"

/* A device and what the process has open of it. */
typedef struct ControlDriver {
    char *spec; /* as it is opened */
    char name[DEVICE_NAME_MAX];
    char kind[DEVICE_NAME_MAX];
    char *determinism_class; /* as text; made when it was first opened */
    bool host_memory;
    uint64_t speed;   /* measured when it was first opened; 0: it was not */
    Device *device;   /* NULL: it is closed. Guarded by the executor's mutex, as is the next */
    uint32_t readers; /* threads that ask it for its memory */
    Worker *worker;
} ControlDriver;

typedef struct ControlExecutor {
    const ControlOptions *options;
    ControlMailbox mailbox;
    Device *host;        /* slot 0 of all executions */
    uint64_t host_bytes; /* that the machine has */
    ResidentModels *models;
    IoPool *io;
    ControlDriver drivers[CONTROL_DEVICES_MAX];
    uint32_t driver_count;
    pthread_mutex_t mutex;
    pthread_cond_t reader_done; /* of a device */
} ControlExecutor;

/* options: borrowed. What was done is told through the mailbox. */
MUST_CHECK Error *control_executor_create(
    const ControlOptions *options, ControlMailbox mailbox, ControlExecutor **out_executor);
ControlExecutorPort control_executor_get_port(ControlExecutor *executor);
/* Waits until every slice and task that was given to it has ended, and its message is posted. */
void control_executor_finish(ControlExecutor *executor);
/* Behind that, when no hold has anything of it any more. */
void control_executor_release(ControlExecutor *executor);

/* ---- control_drivers.c: devices ---- */
/* As ControlExecutorPort.add_device. */
MUST_CHECK Error *control_drivers_add(
    ControlExecutor *executor, const char *spec, bool measures, ExecutorDevice *out_device);
/* As ControlExecutorPort.get_memory. */
MUST_CHECK Error *control_drivers_get_memory(
    ControlExecutor *executor, uint32_t index, DeviceMemory *out_memory);
/* On an I/O thread, as the next one. Waits for those who read its memory. */
void control_drivers_close(ControlExecutor *executor, uint32_t index);
MUST_CHECK Error *control_drivers_open(
    ControlExecutor *executor, uint32_t index, uint64_t *out_bytes);
void control_drivers_deinit(ControlExecutor *executor);
