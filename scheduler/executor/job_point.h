#pragma once
/* A job's checkpoint as it is stored: the point at which the job continues, and its execution's
 * manifest if that point is inside a run. Called by job_snapshot.c, scheduler/jobs/ and the command
 * line's run_job.c. Pure: no state.
 *
 * Stored as: docs/job-files.md#job-checkpoint */
#include "scheduler/executor/batch.h"

typedef struct JobPoint {
    uint64_t next_run;
    int64_t sequence; /* of the job's next output */
    BatchOutputs outputs;
    const uint8_t *manifest; /* packed; borrowed. NULL: between two runs */
    size_t manifest_size;
} JobPoint;

void job_point_deinit(JobPoint *point);
#define OWN_POINT(name) __attribute__((cleanup(job_point_deinit))) name
/* Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *job_point_write(const JobPoint *point, ByteWriter *writer);
/* Reads a point and checks its form alone. Borrows from bytes. Errors: CORRUPT; UNSUPPORTED. */
MUST_CHECK Error *job_point_read(const void *bytes, size_t size, JobPoint *out_point);
