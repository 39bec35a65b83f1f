#pragma once
/* Marks of removed jobs, and the steps that delete their rows, in the caller's catalog transaction.
 * store/jobs sets the marks; removals_run in store/upkeep runs the steps. */
#include "store/jobs/jobs.h"

/* Marks a job. whole: the job itself is deleted, in any state. Not whole: only its contents are
 * deleted, and the caller writes the row back with bytes_stored 0. */
MUST_CHECK Error *job_removals_mark(Connection *catalog, const Job *job, bool whole);
/* Deletes rows of a marked job. Deletes nothing when the budget is used up.
 *
 * inout_rows: about how many rows may be deleted, at most REMOVAL_STEP_ROWS; the call subtracts the
 *             deleted ones. */
MUST_CHECK Error *job_removals_step(Connection *catalog, int64_t job, uint64_t *inout_rows);
/* Finds out whether contents of a tombstone are still stored. */
MUST_CHECK Error *job_removals_find(Connection *catalog, int64_t job, bool *out_found);
