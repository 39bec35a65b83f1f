#pragma once
/* The plans and events of a worker, found by the number that the parent gave them. Called by
 * process_service*.c.
 *
 * Commands that name a handle may be on several channels, and the command that drops the handle on
 * yet another one. That command says how many commands have named the handle; the handle is freed
 * after the last of them. Threads: any. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

typedef struct ProcessHandles ProcessHandles;

MUST_CHECK Error *process_handles_create(Device *device, ProcessHandles **out);
/* Frees all handles; no thread uses one any more. */
void process_handles_release(ProcessHandles *handles);
DEFINE_OWN(ProcessHandles, process_handles_release);
/* Consume the object, on failure, too. */
MUST_CHECK Error *process_handles_add_plan(
    ProcessHandles *handles, Plan *owned_plan, uint64_t *out_id);
MUST_CHECK Error *process_handles_add_event(
    ProcessHandles *handles, DeviceEvent *owned_event, uint64_t *out_id);
/* Borrowed. Errors: CORRUPT no such handle. */
MUST_CHECK Error *process_handles_get_plan(ProcessHandles *handles, uint64_t id, Plan **out);
MUST_CHECK Error *process_handles_get_event(
    ProcessHandles *handles, uint64_t id, DeviceEvent **out);
/* Counts a command that named the handle and is done. */
void process_handles_count_use(ProcessHandles *handles, uint64_t id);
/* Frees the handle when so many commands are done. */
void process_handles_drop(ProcessHandles *handles, uint64_t id, uint64_t uses);
/* Notes that a recording of the event is queued; and waits until it is, or the worker ends. */
void process_handles_set_recorded(ProcessHandles *handles, uint64_t id, uint64_t number);
void process_handles_wait_recorded(ProcessHandles *handles, uint64_t id, uint64_t number);
/* Called when the worker ends: waiting threads return. */
void process_handles_end(ProcessHandles *handles);
