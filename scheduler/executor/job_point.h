#pragma once
/* A job's checkpoint as it is stored: where the job goes on, and its execution's manifest when it
 * stands in the middle of a run.
 *
 * Stored as: docs/job-files.md#job-checkpoint */
#include "scheduler/executor/batch.h"

typedef struct JobPoint {
    uint64_t next_run;
    int64_t sequence; /* of its next output */
    BatchOutputs outputs;
    const uint8_t *manifest; /* packed; borrowed. NULL: between two runs */
    size_t manifest_size;
} JobPoint;

void job_point_deinit(JobPoint *point);
#define OWN_POINT(name) __attribute__((cleanup(job_point_deinit))) name
/* Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *job_point_write(const JobPoint *point, ByteWriter *writer);
/* Forms alone are checked. Borrows from bytes. Errors: CORRUPT; UNSUPPORTED. */
MUST_CHECK Error *job_point_read(const void *bytes, size_t size, JobPoint *out_point);
