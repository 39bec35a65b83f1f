#pragma once
/* Which job has a device: a slice gets its device, is asked to end, and gives the device back.
 * Called by the other files of slices/, by control_decisions.c and by request handlers, on the
 * control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* Gives the job the device of its site, until control_end_slice. budget_ns: of the slice; 0: the
 * slice ends by itself. */
void control_give_device(ControlJob *job, uint64_t budget_ns);
/* Makes the slice that has begun end after budget_ns, if it would end later. */
void control_shorten_slice(ControlJob *job, uint64_t budget_ns);
/* Notes that the job has the device from now on, unless the job had it last. */
void control_note_holder(ControlJob *job);
/* Asks the slice that runs to end soon, wherever its kernel is. */
void control_ask_for_device(ControlJob *job);
/* Lets all slices run until they are asked to end in another way: control_stop_slices. */
void control_forget_slice_ends(Control *control);
/* True: a slice has a device, or is aside. */
bool control_has_slices(const Control *control);
/* The number of the job that had the device last, and since when it has had the device. 0: none. */
uint64_t control_find_holder(const Control *control, uint32_t index);
uint64_t control_held_since_ns(const Control *control, uint32_t index);
/* Ends the job's slice at once and drops what the slice made. Nothing happens without a slice. */
void control_discard_slice(ControlJob *job);
/* Ends all slices as soon as possible. discard: drops what they made. */
void control_stop_slices(Control *control, bool discard);
/* How long the slice that has ended had the device since the job got the device last. */
uint64_t control_slice_ns(const ControlJob *job);
/* Takes the device from the job and counts the slice, without a word to the policy. */
void control_leave_device(ControlJob *job, uint64_t device_ns);
/* Ends a slice for the policy: the device is free. bytes: of NEEDS_MEMORY, else 0. */
void control_end_slice(ControlJob *job, PolicyOutcome outcome, uint64_t device_ns, uint64_t bytes);
