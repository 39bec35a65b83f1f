#pragma once
/* Marks of removed jobs and models, and the steps that follow: in the caller's catalog transaction.
 */
#include "store/jobs.h"
#include "store/removals.h"
#include "store/store_internal.h"

/* whole: the job goes, whatever its state is. Else its contents go and its row stays; it is to be
 * written back with bytes_stored 0. */
MUST_CHECK Error *removals_mark_job(Connection *catalog, const Job *job, bool whole);
/* Deletes rows of a marked job; nothing where the budget is used up.
 *
 * inout_rows: how many may be deleted, about; what is left of that. */
MUST_CHECK Error *removals_step_job(Connection *catalog, int64_t job, uint64_t *inout_rows);
/* Whether contents that a tombstone had are still there. */
MUST_CHECK Error *removals_find_job(Connection *catalog, int64_t job, bool *out_found);

/* The same for a model with its versions and aliases; model: its row. */
MUST_CHECK Error *removals_mark_model(Connection *catalog, int64_t model);
MUST_CHECK Error *removals_step_model(Connection *catalog, int64_t model, uint64_t *inout_rows);
