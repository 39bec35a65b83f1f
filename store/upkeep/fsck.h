#pragma once
/* Checks everything in the store and repairs chunks that another copy still has. Callers:
 * route_store.c (the HTTP route) and, without a daemon, command_fsck.c; scheduler/node gives the
 * checks of manifests and policies. Threads: any; the pool's threads hash. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

enum { FSCK_ERRORS_MAX = 1000 }; /* texts that are kept; error_count counts all */

/* A stored executable as the catalog has it. Valid during the call. */
typedef struct FsckExecutable {
    TenantId tenant;
    Digest identity;
    const uint8_t *manifest; /* as stored */
    size_t manifest_size;
    const ChunkRef *chunks;
    size_t chunk_count;
} FsckExecutable;

/* Options of a check. All fields may be 0 / NULL. */
typedef struct FsckOptions {
    WorkerPool *pool; /* its threads hash chunks */
    /* Checks the inside of a manifest, which the store itself cannot read: its decompressed SHA-256
     * is the identity, and it names these chunks in this order. A returned error becomes one of the
     * result's. */
    Error *(*check_manifest)(void *context, const FsckExecutable *executable);
    void *check_manifest_context;
    /* Checks an unfinished job's policy, which only the scheduler can read. Errors as
     * check_manifest. */
    Error *(*check_policy)(void *context, const void *policy, size_t size);
    /* Sets invalid settings of tenants to their defaults, and recounts what each tenant has
     * stored. */
    bool repair;
    /* Another copy (an exported file) for missing or corrupt chunks. Its chunks are verified. */
    const ChunkSource *repair_from;
    /* Called from time to time, from the calling thread. */
    void (*progress)(void *context, uint64_t chunks_done, uint64_t chunks_total);
    void *progress_context;
} FsckOptions;

typedef struct FsckResult {
    uint64_t chunks; /* checked */
    uint64_t bytes;  /* of the checked chunks, as stored */
    uint64_t executables;
    uint64_t contents;      /* inputs, outputs and checkpoints of jobs */
    uint64_t orphan_chunks; /* chunks that nothing refers to: no error, gc deletes them */
    uint64_t orphan_bytes;
    /* checked files of prepared weights, and removed ones among them: no error, they are prepared
     * anew */
    uint64_t weight_files;
    uint64_t weight_files_removed;
    uint64_t repaired; /* repaired chunks and tenants, which are not counted as errors */
    uint64_t error_count;
    char **errors; /* the first FSCK_ERRORS_MAX errors, one line each */
} FsckResult;

void fsck_result_release(FsckResult *result);
DEFINE_OWN(FsckResult, fsck_result_release);

/* Runs all checks: both databases' integrity_check, every manifest, every content of a job, every
 * reference and count, the hash of every chunk, and the cache of prepared weights.
 *
 * options: may be NULL.
 * Errors:  only when the check cannot continue; findings are in the result. */
MUST_CHECK Error *fsck_run(Store *store, const FsckOptions *options, FsckResult **out_result);
