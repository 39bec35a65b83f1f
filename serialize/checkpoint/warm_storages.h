#pragma once
/* Storages held in memory ahead of an execution: those of a slightly older checkpoint of it.
 * Reading the next checkpoint takes over unchanged storages, copies the chunks that have moved, and
 * fetches the other chunks. Caller: scheduler/control for arriving jobs, with I/O threads that
 * read.
 *
 * A storage is never shared: it moves with its memory into the execution that checkpoint_read
 * makes, which is then the same as one read without the set. Only storages on devices whose
 * addresses are pointers are held; others are read as usual.
 *
 * Threads: one at a time. */
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_storage.h"

typedef struct WarmCounts { /* bytes of bulk data, in all readings */
    uint64_t kept;          /* in storages that were taken over unchanged */
    uint64_t copied, decoded;
} WarmCounts;

/* Makes an empty set.
 *
 * devices:     the devices of the later execution; they outlive the set.
 * limit_bytes: of one slot's memory; storages beyond it are not held, and are read when needed. 0:
 *              the whole device. */
MUST_CHECK Error *warm_storages_create(
    Device *const devices[SLOT_COUNT], uint64_t limit_bytes, WarmStorages **out);
void warm_storages_release(WarmStorages *warm);
DEFINE_OWN(WarmStorages, warm_storages_release);

/* Makes the set hold exactly the storages of this checkpoint (or of a job's file, which may have
 * none).
 *
 * verify: how fetched chunks are checked.
 * Errors: CORRUPT; whatever the container's source returns; the set is then empty. */
MUST_CHECK Error *warm_storages_read(
    WarmStorages *warm, const Container *container, WorkerPool *pool, ChunkVerify verify);
void warm_storages_clear(WarmStorages *warm);
WarmCounts warm_storages_get_counts(const WarmStorages *warm);
/* Returns the bytes of memory that the set holds. */
uint64_t warm_storages_bytes(const WarmStorages *warm);

/* ---- For the reader of a checkpoint ---- */

/* Takes the storage of that description out of the set and into the caller's pool, sealed if the
 * description says so; NULL: the set has none, or the pool has no room. */
MUST_CHECK Error *warm_storages_take(
    WarmStorages *warm, const StoredStorage *stored, MemoryPool *pool, Storage **out);
/* Reads bulk data like container_read_bulks and copies the chunks that the set has. Storages that
 * were taken since the last reading must be unchanged. */
MUST_CHECK Error *warm_storages_read_bulks(WarmStorages *warm, const Container *container,
    const BulkRead *reads, size_t count, WorkerPool *pool, ChunkVerify verify);
