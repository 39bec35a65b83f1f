#pragma once
/* A job's events that change nothing else: where it runs, what became of its deadline. On the
 * control thread. */
#include "scheduler/control/state/control_internal.h"

/* Stored with the next commit. words: why; may be NULL. */
void control_tell(ControlJob *job, JobEventKind kind, const char *words);
/* The same of PREEMPTED and MOVED_OUT, which may happen often: some are only counted. */
void control_tell_rarely(ControlJob *job, JobEventKind kind, const char *words);
/* The policy stops its slice; nothing is told if that was asked for. */
void control_tell_preempted(ControlJob *job);
/* It has left its device; where: "to disk". */
void control_tell_moved_out(ControlJob *job, const char *where);
/* That it runs where it is now, unless that was told. */
void control_tell_running(ControlJob *job);
/* That its deadline has passed: at once. */
void control_tell_missed(ControlJob *job);
/* What the policy has promised, shown with its state. */
void control_tell_promise(ControlJob *job, uint64_t end_ns);
/* If it went on from a checkpoint of other arithmetic. */
void control_tell_class(ControlJob *job);
void control_tellings_free(JobTelling *tellings);
