#pragma once
/* Some of a job's outputs as an .npz file that is made while it is read. Nothing is written to the
 * disk; the small arrays of the answer's rows and one chunk are in memory. Called by
 * job_service_outputs.c, on handler threads; a stream belongs to one thread.
 *
 * An answer holds as many rows as its limits allow, at least one; the next answer continues after
 * them. */
#include "scheduler/http/server/jobs_api.h"
#include "store/jobs/jobs.h"

typedef struct OutputAnswerLimits {
    size_t rows_max;
    uint64_t bytes_max; /* of all arrays, unpacked */
    uint64_t held_max;  /* of the arrays that are held in memory from the beginning */
} OutputAnswerLimits;

/* 10,000 rows, 256 MiB, 1 MiB. */
extern const OutputAnswerLimits output_answer_limits;

/* Opens the visible rows from sequence number since on. Arrays of a batch job's rows become one
 * array for each name, along the leading axis.
 *
 * out_stream: fails where the job is removed meanwhile.
 * Errors:     NOT_FOUND; CORRUPT; INVALID a single run's rows that share a name. */
MUST_CHECK Error *output_answer_open(Store *store, const Job *job, int64_t since,
    const OutputAnswerLimits *limits, HttpStream *out_stream, JobsApiOutputs *out);
