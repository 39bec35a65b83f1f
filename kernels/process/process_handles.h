#pragma once
/* The plans and events of a worker, by the number that its parent knows them under.
 *
 * Commands that name one may be on several channels, and whoever lets it go does so on yet another:
 * he says how many commands have named it, and it goes with the last of them. Threads: any. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

typedef struct ProcessHandles ProcessHandles;

MUST_CHECK Error *process_handles_create(Device *device, ProcessHandles **out);
/* Lets everything go; nobody uses any. */
void process_handles_release(ProcessHandles *handles);
DEFINE_OWN(ProcessHandles, process_handles_release);
/* Consumed also when it fails. */
MUST_CHECK Error *process_handles_add_plan(
    ProcessHandles *handles, Plan *owned_plan, uint64_t *out_id);
MUST_CHECK Error *process_handles_add_event(
    ProcessHandles *handles, DeviceEvent *owned_event, uint64_t *out_id);
/* Borrowed. Errors: CORRUPT no such one. */
MUST_CHECK Error *process_handles_get_plan(ProcessHandles *handles, uint64_t id, Plan **out);
MUST_CHECK Error *process_handles_get_event(
    ProcessHandles *handles, uint64_t id, DeviceEvent **out);
/* One of the commands that name it is done. */
void process_handles_count_use(ProcessHandles *handles, uint64_t id);
/* It goes when so many are. */
void process_handles_drop(ProcessHandles *handles, uint64_t id, uint64_t uses);
/* That recording of the event is queued; and waiting until it is, or the worker ends. */
void process_handles_set_recorded(ProcessHandles *handles, uint64_t id, uint64_t number);
void process_handles_wait_recorded(ProcessHandles *handles, uint64_t id, uint64_t number);
/* The worker ends: nobody waits any more. */
void process_handles_end(ProcessHandles *handles);
