#pragma once
/* Open executables as models.c, gc and fsck see them. Threads: the catalog's writer guards the list
 * of open executables. */
#include "store/models/stored_executable.h"
#include "store/database/store_connections_internal.h"

struct StoredExecutable {
    Store *store;
    /* the executable's row; removal keeps it while this struct is in the store's list */
    int64_t id;
    ByteWriter manifest;
    ChunkRef *chunks;
    size_t chunk_count;
    struct ChunkReader *reader;
    struct StoredExecutable *next; /* in store->open_executables, guarded by the catalog's writer */
};

/* Deletes executables of a tenant that are not open and that no version and no job refers to. One
 * call is one step, in a catalog transaction.
 *
 * inout_count: the call adds the number of deleted executables.
 * out_whole:   true when none is left. */
MUST_CHECK Error *stored_executable_delete_unused(
    Store *store, Connection *catalog, TenantId tenant, uint64_t *inout_count, bool *out_whole);
