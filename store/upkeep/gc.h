#pragma once
/* Deletes what is left of removed jobs and models, and what nobody refers to: executables without a
 * version or job, chunks that no executable and no content of a job needs, prepared weights of
 * deleted executables; gives the space back to the file system. What is open
 * (stored_executable_open, stored_content_open) or being uploaded stays. */
#include <stdatomic.h>
#include <stdint.h>

#include "base/digest.h"
#include "store/database/store.h"

typedef struct GcResult {
    uint64_t executables; /* deleted */
    uint64_t chunks;
    uint64_t bytes; /* of deleted chunks, as stored */
} GcResult;

/* What was deleted from the catalog since the last gc_run, so what one might give back: more than
 * that where content is still shared, less where a process died. 0 after opening. */
uint64_t gc_estimate_bytes(const Store *store);

/* All tenants. Interrupted anywhere, it has deleted less. */
MUST_CHECK Error *gc_run(Store *store, GcResult *out_result);
/* The same, until somebody sets *stop. */
MUST_CHECK Error *gc_run_until(Store *store, const atomic_bool *stop, GcResult *out_result);
