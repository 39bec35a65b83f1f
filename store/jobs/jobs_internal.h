#pragma once
/* Jobs inside the caller's catalog transaction: new rows, new ids, changes of state, removal.
 * Called by store/jobs and store/upkeep, in the thread that runs the catalog work. */
#include "store/database/store_connections_internal.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/jobs.h"

/* Inserts a new row. executable: the id of the executable's row. The job and the submission give
 * the other columns. */
MUST_CHECK Error *jobs_insert(
    Connection *catalog, const Job *job, int64_t executable, const JobSubmission *submission);
/* Makes the job of a submission in memory, without row and id. Errors: INVALID a field beyond its
 * limits. */
MUST_CHECK Error *jobs_make(TenantId tenant, const JobSubmission *submission, Job *out_job);
/* Calls jobs_insert with the tenant's executable of the job's identity. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_insert_new(
    Connection *catalog, const Job *job, const JobSubmission *submission);
/* Replaces the job's present row like jobs_insert_new inserts one. */
MUST_CHECK Error *jobs_replace(
    Connection *catalog, const Job *job, const JobSubmission *submission);

/* The numbers that the home makes ids from. */
typedef struct NodeNumbers {
    int64_t last_job;
    uint64_t node;
} NodeNumbers;
MUST_CHECK Error *jobs_read_numbers(Connection *catalog, NodeNumbers *out_numbers);
/* Takes the next id of this home. */
MUST_CHECK Error *jobs_take_id(Connection *catalog, int64_t *out_row, JobId *out_id);
/* Reads the checkpoint that a fork or a replay begins at. number: 0 for the newest. verb: for the
 * error message, such as "forked". Errors: NOT_FOUND no such checkpoint; CONFLICT the job is a
 * tombstone. */
MUST_CHECK Error *jobs_find_origin(Connection *catalog, const Job *job, int64_t number,
    const char *verb, JobCheckpoint *out_checkpoint);
/* Makes a queued job in memory under a new id, with the progress of the checkpoint. Does not store
 * it. */
MUST_CHECK Error *jobs_make_fork(
    Connection *catalog, const Job *from, const JobCheckpoint *checkpoint, Job *out);

/* The part of jobs_transition that changes a job in memory. The caller writes the job back. */
MUST_CHECK Error *jobs_enter_state(
    Connection *catalog, Job *inout_job, JobState state, const char *why);
/* Deletes a job in any state, with all rows that refer to it (removals.h). */
MUST_CHECK Error *jobs_delete(Connection *catalog, const Job *job);
/* Deletes the job's contents and its reference to the executable. The caller writes the job back.
 */
MUST_CHECK Error *jobs_clear(Connection *catalog, Job *inout_job);
