#pragma once
/* What removal sees of open executables. */
#include "store/models/stored_executable.h"
#include "store/database/store_internal.h"

struct StoredExecutable {
    Store *store;
    int64_t id; /* its row stays while it is in the store's list */
    ByteWriter manifest;
    ChunkRef *chunks;
    size_t chunk_count;
    struct ChunkReader *reader;
    struct StoredExecutable *next; /* in store->open_executables, guarded by the catalog's writer */
};

/* Deletes executables of the tenant's that no version and no job refers to, but for open ones: a
 * step of them, in a catalog transaction.
 *
 * inout_count: how many were deleted is added.
 * out_whole:   none is left. */
MUST_CHECK Error *stored_executable_delete_unused(
    Store *store, Connection *catalog, TenantId tenant, uint64_t *inout_count, bool *out_whole);
