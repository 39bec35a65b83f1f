#pragma once
/* The executor port of control_ports.h over workers, I/O threads, models in memory and devices.
 * Created and released by control_thread.c; used by the logic on the control thread.
 * control_arrival.c and control_models.c, which open models on threads of their own, read it, too.
 */
#include "scheduler/control/adapters/control_drivers.h"
#include "scheduler/control/control.h"
#include "scheduler/control/control_ports.h"
#include "scheduler/executor/io_pool.h"

typedef struct ControlExecutor {
    const ControlOptions *options;
    ControlMailbox mailbox;
    Device *host;        /* slot 0 of all executions */
    uint64_t host_bytes; /* that the machine has */
    ResidentModels *models;
    IoPool *io;
    ControlDrivers drivers;
    WorkerSlice **out_lent; /* gets a slice for a lent thread; NULL: no thread is lent */
} ControlExecutor;

/* The results of tasks and slices are posted to the mailbox. options: borrowed. */
MUST_CHECK Error *control_executor_create(
    const ControlOptions *options, ControlMailbox mailbox, ControlExecutor **out_executor);
ControlExecutorPort control_executor_get_port(ControlExecutor *executor);
/* Lends a thread to the next slice of a job that may have one: the slice is set at out_slice, and
 * the thread runs it by worker_run behind the turn. NULL: no thread is lent any more. With the
 * turn. */
void control_executor_lend(ControlExecutor *executor, WorkerSlice **out_slice);
/* Waits until every slice and task has ended and its message is posted. */
void control_executor_finish(ControlExecutor *executor);
/* Called behind control_executor_finish, when no job holds a run any more. */
void control_executor_release(ControlExecutor *executor);
