#pragma once
/* Rows of jobs, in the caller's catalog transaction: they are read, changed in memory, and written
 * back. Only store/jobs and store/upkeep call these functions, in the thread that runs the catalog
 * work. */
#include "store/jobs/arrivals.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/job_events.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/jobs.h"
#include "store/database/store_connections_internal.h"

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
/* Reads which tenant owns a job. */
MUST_CHECK Error *jobs_read_tenant(
    Connection *catalog, JobId id, bool *out_found, TenantId *out_tenant);
/* Reads a row of JOB_COLUMNS. */
MUST_CHECK Error *jobs_read_row(const Query *query, Job *out_job);
/* Writes back the columns that change during a job's life. */
MUST_CHECK Error *jobs_write(Connection *catalog, const Job *job);
MUST_CHECK Error *jobs_read_policy(Connection *catalog, const Job *job, ByteWriter *inout_policy);
/* Reads a job that has not ended. Errors: NOT_FOUND; CONFLICT. */
MUST_CHECK Error *jobs_read_unfinished(
    Connection *catalog, TenantId tenant, JobId id, Job *out_job);

/* Reads the checkpoint that a fork or a replay begins at. number: 0 for the newest. verb: for the
 * error message, such as "forked". Errors: NOT_FOUND no such checkpoint; CONFLICT the job is a
 * tombstone. */
MUST_CHECK Error *jobs_find_origin(Connection *catalog, const Job *job, int64_t number,
    const char *verb, JobCheckpoint *out_checkpoint);
/* Makes a queued job in memory under a new id, with the progress of the checkpoint. Does not store
 * it. */
MUST_CHECK Error *jobs_make_fork(
    Connection *catalog, const Job *from, const JobCheckpoint *checkpoint, Job *out);

/* Adds an event with the job's present state. The caller writes the job back. */
MUST_CHECK Error *job_events_add(Connection *catalog, Job *inout_job, JobEventKind kind,
    int64_t output_begin, int64_t output_end, const char *why);

/* The parts of job_outputs_add, job_checkpoints_add and jobs_transition that change a job in
 * memory. The caller writes the job back. */
MUST_CHECK Error *job_outputs_append(Connection *catalog, Job *inout_job, int64_t first,
    const JobContent *contents, size_t count, JobOutputsResult *inout_result);
MUST_CHECK Error *job_checkpoints_append(Connection *catalog, Job *inout_job,
    const JobContent *content, int64_t items_done, int64_t outputs, int64_t keep);
MUST_CHECK Error *jobs_enter_state(
    Connection *catalog, Job *inout_job, JobState state, const char *why);
/* Sets the epoch and writes it. jobs_write leaves the epoch unchanged. */
MUST_CHECK Error *jobs_set_epoch(Connection *catalog, Job *inout_job, int64_t epoch);

/* Adjusts the job's departure and arrival to the job's new state. The caller writes the job back.
 */
MUST_CHECK Error *departures_follow(Connection *catalog, Job *inout_job, JobState before);
MUST_CHECK Error *arrivals_follow(Connection *catalog, const Job *job, JobState before);
/* Called in the transaction that stores the arrived job. tombstone: the row that the job replaces;
 * NULL: none. Errors: CONFLICT this node took no such offer. */
MUST_CHECK Error *arrivals_note_prepared(
    Connection *catalog, const Arrival *arrival, const Job *tombstone);
/* Deletes a job in any state, with all rows that refer to it (removals.h). */
MUST_CHECK Error *jobs_delete(Connection *catalog, const Job *job);
/* Deletes the job's contents and its reference to the executable. The caller writes the job back.
 */
MUST_CHECK Error *jobs_clear(Connection *catalog, Job *inout_job);

/* Raises the job's progress; a lower number changes nothing. Errors: INVALID items_done is beyond
 * the job's items. */
MUST_CHECK Error *jobs_advance(Job *inout_job, int64_t items_done);
