#pragma once
/* Events of a job that change nothing else: where the job runs, what became of its deadline. They
 * are stored with the job's next commit. On the control thread. */
#include "scheduler/control/state/control_job.h"

/* words: the reason; may be NULL. */
void control_tell(ControlJob *job, JobEventKind kind, const char *words);
/* The same of PREEMPTED and MOVED_OUT, which may happen often: most are only counted. */
void control_tell_rarely(ControlJob *job, JobEventKind kind, const char *words);
/* Tells that the policy stops the job's slice, unless somebody asked for that. */
void control_tell_preempted(ControlJob *job);
/* Tells that the job has left its device. where: "to disk". */
void control_tell_moved_out(ControlJob *job, const char *where);
/* Tells the device that the job runs on, once for each time that the job comes to a device. */
void control_tell_running(ControlJob *job);
/* Tells that the job's deadline has passed. True: that is new, and the caller commits the job. */
MUST_CHECK bool control_tell_missed(ControlJob *job);
/* Shows the end that the policy promises. Locks the status mutex. */
void control_tell_promise(ControlJob *job, uint64_t end_ns);
/* Tells that the job went on from a checkpoint of other arithmetic. True: it did, and the caller
 * commits the job. */
MUST_CHECK bool control_tell_class(ControlJob *job);
void control_tellings_free(JobTelling *tellings);
