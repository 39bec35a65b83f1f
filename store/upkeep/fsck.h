#pragma once
/* Checks everything that the store holds and repairs chunks that another copy still has. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

enum { FSCK_ERRORS_MAX = 1000 }; /* texts kept; error_count counts all */

/* A stored executable as the catalog has it. Borrowed during the call. */
typedef struct FsckExecutable {
    TenantId tenant;
    Digest identity;
    const uint8_t *manifest; /* as stored */
    size_t manifest_size;
    const ChunkRef *chunks;
    size_t chunk_count;
} FsckExecutable;

/* All fields may be 0 / NULL. */
typedef struct FsckOptions {
    WorkerPool *pool; /* hashes in its threads */
    /* Looks inside a manifest, which the store itself can't: decompressed it has the identity as
     * its SHA-256 and names these chunks in this order. The returned error becomes one of the
     * result's. */
    Error *(*check_manifest)(void *context, const FsckExecutable *executable);
    void *check_manifest_context;
    /* Looks inside an unfinished job's policy, which is the scheduler's. As check_manifest. */
    Error *(*check_policy)(void *context, const void *policy, size_t size);
    /* Settings of tenants that make no sense are set to their defaults, and what is stored for a
     * tenant is counted anew. */
    bool repair;
    /* Another copy (an exported file) for chunks that are missing or corrupt. What it gives is
     * verified. */
    const ChunkSource *repair_from;
    /* Called now and then, from the calling thread. */
    void (*progress)(void *context, uint64_t chunks_done, uint64_t chunks_total);
    void *progress_context;
} FsckOptions;

typedef struct FsckResult {
    uint64_t chunks; /* checked */
    uint64_t bytes;  /* of them, as stored */
    uint64_t executables;
    uint64_t contents;      /* inputs, outputs and checkpoints of jobs */
    uint64_t orphan_chunks; /* nobody refers to them: no error, gc deletes them */
    uint64_t orphan_bytes;
    uint64_t weight_files; /* prepared weights that were looked at, and how many were not what they
                              should be and are gone: no error, they are made anew */
    uint64_t weight_files_removed;
    uint64_t repaired; /* chunks, tenants; they are not among the errors */
    uint64_t error_count;
    char **errors; /* the first FSCK_ERRORS_MAX of them, one line each */
} FsckResult;

void fsck_result_release(FsckResult *result);
DEFINE_OWN(FsckResult, fsck_result_release);

/* Both databases' integrity_check, every manifest, every content of a job, every reference and
 * count, every chunk re-hashed; and the cache of prepared weights.
 *
 * options: may be NULL.
 * Errors:  only when checking itself can't go on; what it finds is in the result. */
MUST_CHECK Error *fsck_run(Store *store, const FsckOptions *options, FsckResult **out_result);
