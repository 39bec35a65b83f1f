#pragma once
/* Marks of removed jobs, and the steps that delete what they had: in the caller's catalog
 * transaction. removals_run takes the steps one after the other. */
#include "store/jobs/jobs.h"

/* whole: the job goes, whatever its state is. Else its contents go and its row stays; it is to be
 * written back with bytes_stored 0. */
MUST_CHECK Error *job_removals_mark(Connection *catalog, const Job *job, bool whole);
/* Deletes rows of a marked job; nothing where the budget is used up.
 *
 * inout_rows: how many may be deleted, about, REMOVAL_STEP_ROWS at most; what is left of that. */
MUST_CHECK Error *job_removals_step(Connection *catalog, int64_t job, uint64_t *inout_rows);
/* Whether contents that a tombstone had are still there. */
MUST_CHECK Error *job_removals_find(Connection *catalog, int64_t job, bool *out_found);
