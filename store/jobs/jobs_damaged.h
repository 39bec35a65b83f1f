#pragma once
/* Jobs whose rows cannot be read because a bit on the disk has changed. Such a job must not keep a
 * daemon from starting nor other jobs from running. The job is held with a reason; when even its
 * state cannot be read, the job is left alone until a person removes it. Callers:
 * control_recovery.c, scheduler/service and store/upkeep. Threads: functions with a Connection run
 * in catalog work, the others in any thread. */
#include "store/jobs/jobs.h"

/* Where an unfinished job's row is. Comes from an index, so it is known even for a damaged row. */
typedef struct JobPlace {
    int64_t row;
    TenantId tenant;
} JobPlace;

enum { JOB_PLACES_MAX = 1000 }; /* upper bound on the places of one call */

/* Lists the jobs in one unfinished state, in the order of their rows. after: 0, or the last place's
 * row. */
MUST_CHECK Error *jobs_list_places(Store *store, JobState state, int64_t after,
    JobPlace out_places[JOB_PLACES_MAX], size_t *out_count);
/* Reads the job at a row. Errors: NOT_FOUND; CORRUPT. */
MUST_CHECK Error *jobs_get_at(Store *store, int64_t row, Job *out_job);
/* Prints the job's name, or its place in the catalog when the name cannot be read. */
void jobs_name_at(Store *store, int64_t row, char out[JOB_ID_TEXT_SIZE]);

/* Holds a job that cannot continue, with an event that says why. A job that is already held stays
 * unchanged. Errors: CORRUPT the row has no state that allows `held`. */
MUST_CHECK Error *jobs_hold(Connection *catalog, int64_t row, const char *why);

/* Deletes a job whose row cannot be read, in any state, and recounts what its tenant has stored.
 * Errors: NOT_FOUND; CONFLICT the row can be read (use jobs_remove). */
MUST_CHECK Error *jobs_remove_damaged(Connection *catalog, TenantId tenant, JobId id);
