#pragma once
/* Reads a job's inputs, or one of its outputs, from the store as arrays. Called by
 * control_slices.c, on I/O threads. No state. */
#include "base/worker_pool.h"
#include "serialize/arrays/array_list.h"
#include "store/contents/job_content.h"
#include "store/database/job_id.h"

#define STORED_ARRAYS_INPUTS_MAX ((uint64_t)1 << 40) /* bytes of a job's inputs */

/* kind: INPUTS or OUTPUT. bytes_max: of all arrays together. out_arrays: empty before.
 * Errors: as stored_content_open and array_bundle_read. */
MUST_CHECK Error *stored_arrays_read(Store *store, WorkerPool *pool, TenantId tenant, JobId job,
    JobContentKind kind, int64_t sequence, uint64_t bytes_max, ArrayList *out_arrays);
