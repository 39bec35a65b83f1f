#pragma once
/* Slices whose kernels take long, and what is told of jobs that wait for a device. On the control
 * thread. */
#include "scheduler/control/state/control_internal.h"

/* Its slice is to end soon, wherever it is. */
void control_ask_for_device(ControlJob *job);
/* Before a slice of a new run. */
void control_watch_pauses(ControlJob *job);
/* A request begins to wait for a job: one that waits for a kernel too long is told so. */
void control_note_wait(ControlJob *job, ControlRequest *request);
void control_answer_late(Control *control, uint64_t now_ns);
/* The device is the job's: since now, unless it was its own before. */
void control_note_holder(ControlJob *job);
/* How long the slice that has ended had the device since it got it last. */
uint64_t control_slice_ns(const ControlJob *job);
/* The policy runs a job that is aside. */
void control_run_aside(ControlJob *job, uint64_t budget_ns);
/* The policy runs a job whose slice failed while it was aside: it fails now. False: it did not. */
bool control_run_failed(ControlJob *job);
void control_move_aside_out(ControlJob *job, PolicyPlace place);
/* Its slice ends as soon as it can, with nothing. */
void control_discard_slice(ControlJob *job);
/* All slices end as soon as they can. */
void control_stop_slices(Control *control, bool discard);
/* A slice has ended. True: the job was aside, and the policy knows already. */
bool control_end_aside(ControlJob *job);
/* When control_set_due_aside is to be called next; 0: need not. */
uint64_t control_aside_due_ns(const Control *control);
void control_set_due_aside(Control *control, uint64_t now_ns);

/* ---- control_explain.c ---- */
/* What a job that waits for a device waits for; "" when it does not. */
void control_explain_wait(ControlJob *job, char out_why[JOB_WHY_SIZE]);
