#pragma once
/* Takes a submitted job in: finds its model, checks its inputs against the function's ports and the
 * tenant's quotas, unpacks and stores them, and hands the job to the control thread. Called by
 * job_service.c, on handler threads. */
#include "scheduler/control/control.h"
#include "scheduler/node/memory_budget.h"

typedef struct JobIntake {
    TenantId tenant;
    const char *model;  /* NAME, NAME@3, NAME@alias */
    const void *inputs; /* an .npz file; NULL: the function takes none */
    size_t inputs_size;
    MemoryBudget *budget; /* the memory in which the inputs are unpacked */
    const JobPolicy *policy;
    int priority; /* PolicyClass */
    JobRelease release;
    double deadline; /* seconds since 1970; NaN: none */
    const char *key; /* NULL: none */
    bool suspended;  /* the job waits until somebody resumes it */
} JobIntake;

/* Submits the job: durable on return. The same key with the same request answers with the first
 * job.
 *
 * out_created: false if the key named an existing job. The job is queued, or suspended if that was
 *              asked for, unless its state has changed since.
 * Errors: NOT_FOUND the model, the function; INVALID an input, by its name; CONFLICT the key stands
 *         for another request; EXHAUSTED a quota, with its figure, or the disk. */
MUST_CHECK Error *job_intake_submit(
    Control *control, const JobIntake *intake, JobId *out_id, bool *out_created);
