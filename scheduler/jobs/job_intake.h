#pragma once
/* Taking a job in: its model is found; what its inputs' file says of them is checked against the
 * function's ports and the tenant's quotas; then they are unpacked and stored, and the control
 * thread gets it. */
#include "scheduler/control/control.h"
#include "scheduler/node/memory_budget.h"

typedef struct JobIntake {
    TenantId tenant;
    const char *model;  /* NAME, NAME@3, NAME@alias */
    const void *inputs; /* an .npz file; NULL: the function takes none */
    size_t inputs_size;
    MemoryBudget *budget; /* the memory in which they are unpacked */
    const JobPolicy *policy;
    int priority; /* PolicyClass */
    JobRelease release;
    double deadline; /* seconds since 1970; NaN: none */
    const char *key; /* NULL: none */
    bool suspended;  /* it is to wait until somebody resumes it */
} JobIntake;

/* Durable on return; the same key with the same request answers the first job.
 *
 * out_created: false for a job that the key stood for. It is queued, or suspended where that was
 * asked for, unless something has happened to it since.
 * Errors: NOT_FOUND the model, the function; INVALID an input, by its name; CONFLICT the key stands
 *         for another request; EXHAUSTED a quota, with its figure, or the disk. */
MUST_CHECK Error *job_intake_submit(
    Control *control, const JobIntake *intake, JobId *out_id, bool *out_created);
