#pragma once
/* What the tests of jobs share: catalog work in one line, a model to run, jobs with small contents.
 */
#include <math.h>

#include "store/database/catalog.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/job_copy.h"
#include "store/jobs/job_events.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/jobs.h"
#include "store/jobs/stored_content.h"
#include "store/accounts/tenants.h"
#include "tests/store/store_fixtures.h"

/* fixture_end(jobs_remove(fixture_begin(store), …)): the call in a transaction of its own,
 * committed unless it fails; its error. */
Connection *fixture_begin(Store *store);
Error *fixture_end(Error *owned_error);

TenantId fixture_add_tenant(Store *store, const char *name);
/* Registers a model for the tenant; its executable. */
Digest fixture_add_executable(Store *store, TenantId tenant);

/* text as content, staged. */
JobContent fixture_content(TenantId tenant, const char *text);
/* Of one chunk that the upload gets; ref is where it is kept. */
JobContent fixture_chunk_content(
    ChunkUpload *upload, TenantId tenant, uint32_t seed, ChunkRef *out_ref);

/* A batch job of 10 items without a key; inputs are the caller's. */
JobSubmission fixture_submission(const Digest *executable, const JobContent *inputs);
/* out_created: optional. */
Error *fixture_submit_this(
    Store *store, TenantId tenant, const JobSubmission *submission, JobId *out, bool *out_created);
/* fixture_add_executable and a job with inputs "inputs". */
JobId fixture_submit(Store *store, TenantId tenant);
JobId fixture_submit_release(Store *store, TenantId tenant, JobRelease release);
/* jobs_fork, all its steps. out: set on success only. */
Error *fixture_fork(Store *store, JobId id, int64_t checkpoint, JobId *out);
/* job_outputs_rewind, all its steps. */
Error *fixture_rewind(Store *store, JobId id);
Job fixture_get(Store *store, TenantId tenant, JobId id);
Error *fixture_add_output(Store *store, JobId id, int64_t sequence, const char *text);
Error *fixture_add_checkpoint(Store *store, JobId id, const char *text, int64_t items_done,
    int64_t outputs, int64_t keep, int64_t *out_number);

/* Gives a job without outputs so many of 10 bytes each, the first of them visible. The home is not
 * open. */
void fixture_make_outputs(const TestHome *home, int64_t job_row, int count, int visible);

/* The content's bytes as text, in a static buffer. */
const char *fixture_read_text(
    Store *store, TenantId tenant, JobId id, JobContentKind kind, int64_t sequence);
/* The events' kinds and states: "state queued, output queued 0-1, …", without times. */
void fixture_print_events(Store *store, TenantId tenant, JobId id, TextBuilder *out);
/* All jobs of all tenants with everything that can be read of them, without times. */
void fixture_print_jobs(Store *store, TextBuilder *out);
/* Fills to with a catalog of version 1 that has the rows which from's has in the tables of that
 * version, and from's chunks. */
void fixture_make_version_1(const TestHome *from, const TestHome *to);
