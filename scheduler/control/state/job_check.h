#pragma once
/* Combinations of the states of a job's machines that must never occur. Each machine refuses a step
 * that it does not have; this file looks across the machines. Called for every job behind each turn
 * of the control thread, where ControlOptions.checks_jobs is set, which tests do. On the control
 * thread. */
#include "scheduler/control/state/control_job.h"

/* Errors: INTERNAL a combination that must not occur, which is a bug; the caller gives the error to
 * control_fail. */
MUST_CHECK Error *control_job_check(const ControlJob *job);
