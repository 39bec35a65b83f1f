#pragma once
/* The inputs that a batch job has not used yet, as a checkpoint file has them: cut out of the
 * stored ones chunk by chunk, so that no whole array is ever in memory.
 *
 * Threads: one at a time. */
#include "base/worker_pool.h"
#include "scheduler/node/job_policy.h"
#include "serialize/arrays/array_bundle.h"
#include "store/jobs/jobs.h"

typedef struct UnusedInputs UnusedInputs;

/* used: how many items of those that the store has are left out; shared inputs stay whole. The
 * stored inputs are safe from gc until it is closed. policy: borrowed for the call.
 * Errors: as stored_content_open; CORRUPT fewer items are stored. */
MUST_CHECK Error *unused_inputs_open(
    Store *store, const Job *job, const JobPolicy *policy, int64_t used, UnusedInputs **out_inputs);
void unused_inputs_close(UnusedInputs *inputs);
DEFINE_OWN(UnusedInputs, unused_inputs_close);

/* What it keeps in memory, about, with the bundle that is written of it. */
uint64_t unused_inputs_bytes(const UnusedInputs *inputs);
/* out_bundle: empty before. Errors: as array_bundle_write; CORRUPT. */
MUST_CHECK Error *unused_inputs_write(
    UnusedInputs *inputs, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);
/* The chunks of the bundle that was written, each made again when it is asked for. It is quick
 * where they are asked for in the bundle's order. bundle: borrowed. Threads: one at a time. */
ChunkSource unused_inputs_source(UnusedInputs *inputs, const ArrayBundle *bundle);
