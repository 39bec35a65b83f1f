#pragma once
/* Adds events inside the caller's catalog transaction. Called by store/jobs, in the thread that
 * runs the catalog work. */
#include "store/jobs/job_events.h"
#include "store/jobs/job_row_internal.h"

/* Adds an event with the job's present state. The caller writes the job back. */
MUST_CHECK Error *job_events_add(Connection *catalog, Job *inout_job, JobEventKind kind,
    int64_t output_begin, int64_t output_end, const char *why);
