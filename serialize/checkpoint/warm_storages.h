#pragma once
/* Storages of an execution that is still to come, in memory before it: those of a checkpoint that
 * was taken a little earlier. Reading the next one takes over what is still the same, copies the
 * chunks that have moved, and fetches the rest alone.
 *
 * A storage is never shared: it goes into the execution that checkpoint_read makes, with its
 * memory, so that the execution is as if it had been read without. Only where a device's addresses
 * are pointers; storages elsewhere are read as ever.
 *
 * Threads: one at a time. */
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_storage.h"

typedef struct WarmCounts { /* bytes of bulk data, in all readings */
    uint64_t kept;          /* in storages that were taken as they are */
    uint64_t copied, decoded;
} WarmCounts;

/* devices:     of the execution to come; outlive the set.
 * limit_bytes: of one slot's memory; what goes beyond it is not held, and read when it is needed.
 *              0: the whole device. */
MUST_CHECK Error *warm_storages_create(
    Device *const devices[SLOT_COUNT], uint64_t limit_bytes, WarmStorages **out);
void warm_storages_release(WarmStorages *warm);
DEFINE_OWN(WarmStorages, warm_storages_release);

/* Holds what the execution of this checkpoint (or of a job's file, which may have none) holds, and
 * nothing else.
 *
 * verify: of what is fetched. Errors: CORRUPT; whatever the container's source returns; the set is
 * empty then. */
MUST_CHECK Error *warm_storages_read(
    WarmStorages *warm, const Container *container, WorkerPool *pool, ChunkVerify verify);
void warm_storages_clear(WarmStorages *warm);
WarmCounts warm_storages_get_counts(const WarmStorages *warm);
/* Of memory held at present. */
uint64_t warm_storages_bytes(const WarmStorages *warm);

/* ---- For who reads a checkpoint ---- */

/* The storage of that description, in the caller's pool from now on, sealed if it is; NULL: there
 * is none, or no room in the pool. */
MUST_CHECK Error *warm_storages_take(
    WarmStorages *warm, const StoredStorage *stored, MemoryPool *pool, Storage **out);
/* container_read_bulks, with what there is copied. Storages that were taken since the last reading
 * are as they were then. */
MUST_CHECK Error *warm_storages_read_bulks(WarmStorages *warm, const Container *container,
    const BulkRead *reads, size_t count, WorkerPool *pool, ChunkVerify verify);
