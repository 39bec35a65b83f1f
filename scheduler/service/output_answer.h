#pragma once
/* Some of a job's outputs as an .npz file that is made while it is read: nothing is written to the
 * disk, and of an answer's data no more is in memory than the small arrays of its rows and one
 * chunk.
 *
 * An answer holds as many rows as its limits allow, one at least; the next one goes on behind them.
 */
#include "scheduler/http/server/jobs_api.h"
#include "store/jobs/jobs.h"

typedef struct OutputAnswerLimits {
    size_t rows_max;
    uint64_t bytes_max; /* of all arrays, unpacked */
    uint64_t held_max;  /* of those that are held in memory from the beginning */
} OutputAnswerLimits;

/* 10,000 rows, 256 MiB, 1 MiB. */
extern const OutputAnswerLimits output_answer_limits;

/* Visible rows from sequence number since on. Arrays of a batch job's rows become one array for
 * each name, along the leading axis.
 *
 * out_stream: fails where the job is removed meanwhile.
 * Errors:     NOT_FOUND; CORRUPT; INVALID a single run's rows that share a name. */
MUST_CHECK Error *output_answer_open(Store *store, const Job *job, int64_t since,
    const OutputAnswerLimits *limits, HttpStream *out_stream, JobsApiOutputs *out);
