#pragma once
/* Orders to the executor, and the count of orders to the executor or the store that have not come
 * back. A drain ends when that count is 0. On the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* For control_orders.c alone. */
typedef struct ControlOrders {
    size_t in_flight;
} ControlOrders;

/* Counts an order that was given, and one that has come back. */
void control_begin_order(Control *control);
void control_end_order(Control *control);
bool control_has_orders(const Control *control);

/* A task of a job: everything that an executor must know of the job. */
ExecutorTask control_job_task(ControlJob *job, ExecutorTaskKind kind, uint32_t device);
/* Gives the executor a task and counts it. The task's `done` is called when the task has ended, and
 * calls control_end_order. */
void control_post_task(Control *control, ExecutorTask owned_task);
/* Asks the job's slice for something. Only while the job has a slice. from_ns: of PAUSE, else 0. */
void control_request_slice(ControlJob *job, ExecutorRequest what, uint64_t from_ns);
/* The kernel that the job's slice computes. */
LongKernel control_job_get_kernel(const ControlJob *job);
