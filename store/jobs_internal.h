#pragma once
/* Rows of jobs, in the caller's catalog transaction: read, changed in memory, written back. */
#include "store/job_events.h"
#include "store/job_outputs.h"
#include "store/jobs.h"
#include "store/store_internal.h"

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
/* Writes back what changes in a job's life. */
MUST_CHECK Error *jobs_write(Connection *catalog, const Job *job);
MUST_CHECK Error *jobs_read_policy(Connection *catalog, const Job *job, ByteWriter *inout_policy);
/* Reads a job that has not ended. Errors: NOT_FOUND; CONFLICT. */
MUST_CHECK Error *jobs_read_unfinished(
    Connection *catalog, TenantId tenant, JobId id, Job *out_job);

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

/* Sets how far a job is; never back. Errors: INVALID more items than it has. */
MUST_CHECK Error *jobs_advance(Job *inout_job, int64_t items_done);
