#pragma once
/* Moves of jobs and weights between a device, host memory and disk, as the policy wants them. An
 * I/O thread does the work; its task comes back here. For control_decisions.c and the files of
 * slices/, on the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* device: that the job leaves; of a job that has not begun, the one that it was to begin on. */
void control_move_out(ControlJob *job, uint64_t device, PolicyPlace place);
void control_move_in(ControlJob *job, uint32_t device, PolicyPlace place);
void control_load_weights(Control *control, uint64_t model, uint32_t device);
void control_evict_weights(Control *control, uint64_t model, uint32_t device);

/* Gives the executor a task that uses its device: the device is not closed before the task's end.
 */
void control_begin_task(Control *control, ExecutorTask owned_task);
/* Called first by the `done` of such a task. A task that failed with DEVICE_LOST loses the
 * device. */
void control_end_task(Control *control, const ExecutorTask *task);
/* Called when a task opened or moved the job, or left it as it was: how far the job is now. */
void control_note_moved(ControlJob *job, const ExecutorTask *task);
