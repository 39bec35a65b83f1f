#pragma once
/* What the policy is told of one job. Each function posts an event; the event is applied behind
 * those that were posted before. On the control thread. */
#include "scheduler/control/state/control_job.h"

/* Posts an event that has no members but the job: CANCEL_REQUESTED, SUSPEND_REQUESTED,
 * CHECKPOINTED, UNBLOCKED. */
void control_report(ControlJob *job, PolicyEventKind kind);
/* The same if the policy knows the job. */
void control_report_known(ControlJob *job, PolicyEventKind kind);
/* Tells of a move that has ended. kind: MOVED_OUT or MOVED_IN. */
void control_report_moved(ControlJob *job, PolicyEventKind kind, bool worked);
/* Submits the job to the policy, with an estimate of its time where the job has a deadline and jobs
 * of its kind were seen to end. device: the one that the job demands, or POLICY_NO_DEVICE. */
void control_job_submit(ControlJob *job, PolicyPlace place, uint64_t device, uint64_t live_bytes);
/* Called when it is stored that a job is queued again: the policy gets the job back. */
void control_job_submit_again(ControlJob *job);

/* Ends a move to disk without a checkpoint: the job stays where it is. */
void control_fail_move(ControlJob *job);
/* Ends a move to disk whose commit found no room. A commit that is under way ends the move
 * itself. */
void control_give_up_move(ControlJob *job);
/* Ends the move to disk of a job that has ended: nothing of the job is stored any more. */
void control_leave_policy(ControlJob *job);
