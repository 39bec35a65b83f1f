#pragma once
/* Rows of jobs, in the caller's catalog transaction: they are read, changed in memory, and written
 * back. Called by store/jobs and store/upkeep, in the thread that runs the catalog work. */
#include "base/bytes.h"
#include "store/database/store_connections_internal.h"
#include "store/jobs/job_row.h"

/* Reads which tenant owns a job. */
MUST_CHECK Error *job_row_read_tenant(
    Connection *catalog, JobId id, bool *out_found, TenantId *out_tenant);
/* Reads a row of JOB_COLUMNS. */
MUST_CHECK Error *job_row_read_columns(const Query *query, Job *out_job);
/* Writes back the columns that change during a job's life. */
MUST_CHECK Error *job_row_write(Connection *catalog, const Job *job);
MUST_CHECK Error *job_row_read_policy(
    Connection *catalog, const Job *job, ByteWriter *inout_policy);
/* Reads a job that has not ended. Errors: NOT_FOUND; CONFLICT. */
MUST_CHECK Error *job_row_read_unfinished(
    Connection *catalog, TenantId tenant, JobId id, Job *out_job);
/* Sets the epoch and writes it. job_row_write leaves the epoch unchanged. */
MUST_CHECK Error *job_row_set_epoch(Connection *catalog, Job *inout_job, int64_t epoch);
/* Raises the job's progress; a lower number changes nothing. Errors: INVALID items_done is beyond
 * the job's items. */
MUST_CHECK Error *job_row_advance(Job *inout_job, int64_t items_done);
/* NOT_FOUND, with the job's name. */
MUST_CHECK Error *job_row_absent(JobId id);
