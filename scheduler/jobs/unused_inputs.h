#pragma once
/* The inputs that a batch job has not used yet, in the form of a checkpoint file: cut out of the
 * stored ones chunk by chunk, so that no whole array is ever in memory. Called by job_export.c, on
 * handler threads. Threads: one at a time. */
#include "base/worker_pool.h"
#include "scheduler/node/job_policy.h"
#include "serialize/arrays/array_bundle.h"
#include "store/jobs/jobs.h"

typedef struct UnusedInputs UnusedInputs;

/* used: how many stored items are left out; shared inputs stay whole. The stored inputs are safe
 * from gc until the object is closed. policy: borrowed for the call. Errors: as
 * stored_content_open; CORRUPT fewer items are stored. */
MUST_CHECK Error *unused_inputs_open(
    Store *store, const Job *job, const JobPolicy *policy, int64_t used, UnusedInputs **out_inputs);
void unused_inputs_close(UnusedInputs *inputs);
DEFINE_OWN(UnusedInputs, unused_inputs_close);

/* About how many bytes it keeps in memory, with the bundle that is written. */
uint64_t unused_inputs_bytes(const UnusedInputs *inputs);
/* Writes the unused inputs as chunks. out_bundle: empty before. Errors: as array_bundle_write;
 * CORRUPT. */
MUST_CHECK Error *unused_inputs_write(
    UnusedInputs *inputs, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);
/* The chunks of the written bundle, each made again when it is asked for; asking in the bundle's
 * order is fast. bundle: borrowed. Threads: one at a time. */
ChunkSource unused_inputs_source(UnusedInputs *inputs, const ArrayBundle *bundle);
