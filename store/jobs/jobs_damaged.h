#pragma once
/* Jobs whose rows cannot be read as they were written, after a bit on the disk has changed. Such a
 * job must not keep a daemon from starting, nor other jobs from running: it is held with its
 * reason, or, where its row cannot even say so, left alone until somebody removes it. */
#include "store/jobs/jobs.h"

/* Where an unfinished job stands; from an index, so also of a job whose row cannot be read. */
typedef struct JobPlace {
    int64_t row;
    TenantId tenant;
} JobPlace;

enum { JOB_PLACES_MAX = 1000 }; /* at once */

/* Those in one unfinished state, in the order in which they came. after: 0, or the last one's row.
 */
MUST_CHECK Error *jobs_list_places(Store *store, JobState state, int64_t after,
    JobPlace out_places[JOB_PLACES_MAX], size_t *out_count);
/* Errors: NOT_FOUND; CORRUPT. */
MUST_CHECK Error *jobs_get_at(Store *store, int64_t row, Job *out_job);
/* The job's name, where that can be read; else its place in the catalog. */
void jobs_name_at(Store *store, int64_t row, char out[JOB_ID_TEXT_SIZE]);

/* A job that cannot go on as it is becomes held, with an event that says why; of one that is held
 * already nothing changes. Errors: CORRUPT its row says no state that could become that. */
MUST_CHECK Error *jobs_hold(Connection *catalog, int64_t row, const char *why);

/* Deletes a job whose row cannot be read, in whatever state it is, and counts anew what its tenant
 * has stored. Errors: NOT_FOUND; CONFLICT its row can be read: jobs_remove is for those. */
MUST_CHECK Error *jobs_remove_damaged(Connection *catalog, TenantId tenant, JobId id);
