#pragma once
/* Slices that do not give their device back when they are asked to, because a kernel takes long.
 * Such a slice is set aside with its thread, and the device is another job's. For the files of
 * slices/ and control_core.c, on the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* Watches the job's kernels. Called before a slice begins. */
void control_watch_pauses(ControlJob *job);
/* Called when the policy runs a job that is aside. */
void control_run_aside(ControlJob *job, uint64_t budget_ns);
/* Called when the policy runs a job. True: the job's slice failed while it was aside, and the
 * failure is handled now. */
bool control_run_failed(ControlJob *job);
/* Called when the policy moves a job out that is aside: the job leaves when its slice ends. */
void control_move_aside_out(ControlJob *job, PolicyPlace place);

typedef enum AsideEnd {
    ASIDE_RESTS,   /* the job is on its device; the slice's error, if any, waits */
    ASIDE_TO_HOST, /* the job is on its device and is to be moved to host memory */
    ASIDE_TO_DISK, /* the job is on its device and is to be moved to disk */
} AsideEnd;
/* Called when the slice of a job that is aside has ended. */
AsideEnd control_end_aside(ControlJob *job);

/* Sets slices aside that were asked to end long enough ago, and abandons kernels whose time beside
 * other jobs is over. */
void control_set_due_aside(Control *control, uint64_t now_ns);
/* When control_set_due_aside is due; 0: never. */
uint64_t control_aside_due_ns(const Control *control);
