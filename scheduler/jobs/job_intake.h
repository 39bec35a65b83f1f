#pragma once
/* Takes a submitted job in: finds its model, checks its inputs against the function's ports and the
 * tenant's quotas, unpacks and stores them, and hands the job to the control thread. Called by
 * job_service.c, on handler threads. */
#include "scheduler/control/control.h"
#include "scheduler/node/memory_budget.h"
#include "scheduler/node/submission.h"

/* Submits the job: durable on return. The same key with the same request answers with the first
 * job.
 *
 * budget:           the memory in which the inputs are unpacked.
 * inout_submission: what is asked for; submitted once.
 * out_created:      false if the key named an existing job. The job is queued, or suspended if that
 *                   was asked for, unless its state has changed since.
 * Errors: NOT_FOUND the model, the function; INVALID an input, by its name; CONFLICT the key stands
 *         for another request; EXHAUSTED a quota, with its figure, or the disk. */
MUST_CHECK Error *job_intake_submit(Control *control, MemoryBudget *budget,
    Submission *inout_submission, JobId *out_id, bool *out_created);
