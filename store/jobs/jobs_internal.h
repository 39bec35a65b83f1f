#pragma once
/* Rows of jobs, in the caller's catalog transaction: read, changed in memory, written back. */
#include "store/jobs/arrivals.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/job_events.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/jobs.h"
#include "store/database/store_internal.h"

/* A new row. executable: the id of its row. The rest of the row is the job's and the submission's.
 */
MUST_CHECK Error *jobs_insert(
    Connection *catalog, const Job *job, int64_t executable, const JobSubmission *submission);
/* A submission's job before its first event; without row and id. Errors: INVALID a field beyond its
 * limits. */
MUST_CHECK Error *jobs_make(TenantId tenant, const JobSubmission *submission, Job *out_job);
/* jobs_insert with the tenant's executable of the job's identity. Errors: NOT_FOUND. */
MUST_CHECK Error *jobs_insert_new(
    Connection *catalog, const Job *job, const JobSubmission *submission);
/* The same in the place of the row that is there. */
MUST_CHECK Error *jobs_replace(
    Connection *catalog, const Job *job, const JobSubmission *submission);

/* What the home gives ids from. */
typedef struct NodeNumbers {
    int64_t last_job;
    uint64_t node;
} NodeNumbers;
MUST_CHECK Error *jobs_read_numbers(Connection *catalog, NodeNumbers *out_numbers);
/* The next id of this home. */
MUST_CHECK Error *jobs_take_id(Connection *catalog, int64_t *out_row, JobId *out_id);
/* Whose job it is. */
MUST_CHECK Error *jobs_read_tenant(
    Connection *catalog, JobId id, bool *out_found, TenantId *out_tenant);
/* A row of JOB_COLUMNS. */
MUST_CHECK Error *jobs_read_row(const Query *query, Job *out_job);
/* Writes back what changes in a job's life. */
MUST_CHECK Error *jobs_write(Connection *catalog, const Job *job);
MUST_CHECK Error *jobs_read_policy(Connection *catalog, const Job *job, ByteWriter *inout_policy);
/* Reads a job that has not ended. Errors: NOT_FOUND; CONFLICT. */
MUST_CHECK Error *jobs_read_unfinished(
    Connection *catalog, TenantId tenant, JobId id, Job *out_job);

/* Where a job that is made from it begins. number: 0 for the newest. verb: "forked", in the words
 * for a tombstone. Errors: NOT_FOUND no such checkpoint; CONFLICT it is a tombstone. */
MUST_CHECK Error *jobs_find_origin(Connection *catalog, const Job *job, int64_t number,
    const char *verb, JobCheckpoint *out_checkpoint);
/* A queued job under a new id that is where the checkpoint is; not stored. */
MUST_CHECK Error *jobs_make_fork(
    Connection *catalog, const Job *from, const JobCheckpoint *checkpoint, Job *out);

/* Adds an event in the job's state; the job is to be written back. */
MUST_CHECK Error *job_events_add(Connection *catalog, Job *inout_job, JobEventKind kind,
    int64_t output_begin, int64_t output_end, const char *why);

/* Of job_outputs_add, job_checkpoints_add and jobs_transition: the job is to be written back. */
MUST_CHECK Error *job_outputs_append(Connection *catalog, Job *inout_job, int64_t first,
    const JobContent *contents, size_t count, JobOutputsResult *inout_result);
MUST_CHECK Error *job_checkpoints_append(Connection *catalog, Job *inout_job,
    const JobContent *content, int64_t items_done, int64_t outputs, int64_t keep);
MUST_CHECK Error *jobs_enter_state(
    Connection *catalog, Job *inout_job, JobState state, const char *why);
/* Writes it: jobs_write leaves the epoch as it is. */
MUST_CHECK Error *jobs_set_epoch(Connection *catalog, Job *inout_job, int64_t epoch);

/* What a job's new state means for its departure and its arrival; the job is to be written back. */
MUST_CHECK Error *departures_follow(Connection *catalog, Job *inout_job, JobState before);
MUST_CHECK Error *arrivals_follow(Connection *catalog, const Job *job, JobState before);
/* In the transaction that stores the arrived job. tombstone: the row that it replaces; NULL: none.
 * Errors: CONFLICT no such offer was taken. */
MUST_CHECK Error *arrivals_note_prepared(
    Connection *catalog, const Arrival *arrival, const Job *tombstone);
/* Deletes a job, in any state, with all that refers to it: see removals.h. */
MUST_CHECK Error *jobs_delete(Connection *catalog, const Job *job);
/* Deletes what it has of contents, and forgets its executable; the job is to be written back. */
MUST_CHECK Error *jobs_clear(Connection *catalog, Job *inout_job);

/* Sets how far a job is; never back. Errors: INVALID more items than it has. */
MUST_CHECK Error *jobs_advance(Job *inout_job, int64_t items_done);
