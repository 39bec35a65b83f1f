#pragma once
/* Deletes the rest of removed jobs and models and everything unreferenced: executables without a
 * version or job, chunks that no executable and no content of a job needs, prepared weights of
 * deleted executables. Returns the space to the file system. Open things (stored_executable_open,
 * stored_content_open) and uploads stay. Callers: the daemon's housekeeping, route_store.c and
 * command_fsck.c. Threads: any. */
#include <stdatomic.h>
#include <stdint.h>

#include "base/digest.h"
#include "store/database/store.h"

typedef struct GcResult {
    uint64_t executables; /* deleted */
    uint64_t chunks;
    uint64_t bytes; /* of the deleted chunks, as stored */
} GcResult;

/* The bytes deleted from the catalog since the last gc_run: an estimate of the space that a run
 * frees. Content that is still shared makes it too high, a process that died too low. 0 after
 * opening. */
uint64_t gc_estimate_bytes(const Store *store);

/* Runs gc for all tenants. A run that is interrupted has deleted less. */
MUST_CHECK Error *gc_run(Store *store, GcResult *out_result);
/* Runs gc until *stop is set. */
MUST_CHECK Error *gc_run_until(Store *store, const atomic_bool *stop, GcResult *out_result);
