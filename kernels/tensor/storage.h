#pragma once
/* Storage: bytes on one device, counted. Who may write them is the rule that snapshots rest on. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/refcount.h"
#include "kernels/device/device.h"
#include "kernels/device/memory_pool.h"

#define STORAGE_NOT_CONSTANT UINT32_MAX

/* What another layer knows of a storage's bytes (the names of their chunks): the first member of
 * its own struct. Goes with the storage, or before its bytes are overwritten. */
typedef struct StorageAnnotation {
    void (*release)(struct StorageAnnotation *annotation);
} StorageAnnotation;

typedef struct Storage {
    Refcount refcount;
    /* Never written again: constants, inputs, mapped caches. */
    bool sealed;
    /* Made by AllocStorage: several tensors may live in it and be written in place, so a snapshot
     * copies its live written extents at the safepoint instead of taking references. */
    bool opaque;
    /* Grows at its end: the bytes before `filled` are never written again, those behind it are
     * spare. A tensor of the execution that ends at `filled` may be extended in place, whoever
     * else holds the storage: they see what was there. */
    bool append;
    uint8_t slot;            /* which slot of the execution it belongs to: 0 host, 1 device */
    uint32_t constant_index; /* index in the executable's constants, or STORAGE_NOT_CONSTANT */
    Device *device;          /* borrowed: outlives its storages */
    MemoryPool *pool;        /* there as long as its block is; NULL: memory belongs to owner */
    uint64_t address;        /* of the device; 0 when size is 0 */
    uint64_t size;           /* bytes usable */
    uint64_t filled;         /* of an append storage; the execution's thread alone looks at it */
    void *owner;             /* for foreign memory: passed to release_owner when the storage goes */
    void (*release_owner)(void *owner);
    _Atomic(StorageAnnotation *) annotation;
} Storage;

/* From a pool. *out_result says whether the memory was there: see memory_pool.h; *out is set only
 * for MEMORY_GRANTED. */
MUST_CHECK Error *storage_create(
    MemoryPool *pool, uint8_t slot, uint64_t size, MemoryAnswer *out_answer, Storage **out);
/* An append storage filled with size bytes, which the caller writes. Its room is a function of size
 * alone, so that a restored one has as much; none is spare where the pool cannot give that. */
MUST_CHECK Error *storage_create_append(
    MemoryPool *pool, uint8_t slot, uint64_t size, MemoryAnswer *out_answer, Storage **out);
/* Makes a pool's storage another pool's of the same device, at its address. The caller alone holds
 * it. False: it belongs to another device, or the pool has no room for it; it is as it was. */
MUST_CHECK bool storage_move(Storage *storage, MemoryPool *to);
/* Over memory that somebody else owns until release_owner(owner) is called. */
MUST_CHECK Error *storage_create_foreign(Device *device, uint8_t slot, uint64_t address,
    uint64_t size, void *owner, void (*release_owner)(void *owner), Storage **out);
/* Outside any execution (inputs, constants): memory_map'ed or small, zeroed, unsealed. cpu_device:
 * any device whose addresses are pointers. Errors: EXHAUSTED. */
MUST_CHECK Error *storage_create_on_host(Device *cpu_device, uint64_t size, Storage **out);
/* Over a part of another storage, which it retains and which may hold many of them. Sealed.
 * Errors: INVALID it leaves the other one. */
MUST_CHECK Error *storage_create_within(
    Storage *whole, uint64_t offset, uint64_t size, Storage **out);
/* Where work on it is queued: its pool's stream; NULL for others, which are written before they are
 * shared. */
DeviceStream *storage_stream(const Storage *storage);
/* While nobody may overwrite the storage: it is sealed, or others hold it too. False: it has one
 * already, and the caller keeps this one. */
bool storage_annotate(Storage *storage, StorageAnnotation *annotation);
/* NULL: none. Borrowed, for as long as nobody may overwrite the storage. */
StorageAnnotation *storage_get_annotation(const Storage *storage);
/* Before its bytes are overwritten. */
void storage_forget_annotation(Storage *storage);
Storage *storage_retain(Storage *storage);
void storage_release(Storage *storage);
DEFINE_OWN(Storage, storage_release);
