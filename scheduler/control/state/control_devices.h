#pragma once
/* The devices of a node: found by name, added, lost, and shown. Called by control_core.c, by
 * whoever chooses a device for a job, and by whoever sees an order fail with DEVICE_LOST. On the
 * control thread; what control.h declares, on any. */
#include "scheduler/control/state/device_table.h"
#include "scheduler/control/state/control_state.h"

/* POLICY_NO_DEVICE for NULL and "". Errors: NOT_FOUND. */
MUST_CHECK Error *control_find_device(
    const Control *control, const char *name, uint64_t *out_device);
/* The first device of kind cpu. NULL: the node has none, and out_index stays. Threads: any. */
const ControlDevice *control_find_cpu(const Control *control, uint32_t *out_index);

/* The facts of a device; control_device_count says how many devices there are. */
const ExecutorDevice *control_device_facts(const Control *control, uint64_t index);
/* True: the device is lost, or closed, and is not open again yet. */
bool control_device_is_lost(const Control *control, uint64_t index);
/* Counts a task or a commit that uses the device: the device is not closed before the end. */
void control_begin_use(Control *control, uint32_t index);
void control_end_use(Control *control, uint32_t index);

/* Opens a device and tells the policy. Called before the first turn. */
MUST_CHECK Error *control_add_device(Control *control, const char *spec);
/* Tells the policy that a device is there, with so much memory. */
void control_tell_device_added(Control *control, uint32_t index, uint64_t bytes);
/* Marks a device as lost: nothing is begun there any more. device_losses.c tells the policy once
 * nothing uses the device. Does nothing for a device that is lost already. */
void control_lose_device(Control *control, uint32_t index);
/* Tells the operator something of a device: "is back". */
void control_warn_of_device(const Control *control, const ControlDevice *device, const char *what);
/* Ends the measuring of a switch on every device that has no slice now. */
void control_note_idle_devices(Control *control);

/* The name of the lost device that a job waits for. demanded: POLICY_NO_DEVICE for any. NULL: a
 * device that could run the job is there. Threads: any, with the status mutex. */
const char *control_awaited_device(const Control *control, uint64_t demanded);
