#pragma once
/* Storage: counted bytes on one device. The rules on who may write the bytes are those that
 * snapshots rely on. Made by the VM, the readers and the compiler; counts are atomic, other members
 * belong to the thread of the execution. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/refcount.h"
#include "kernels/device/device.h"
#include "kernels/device/memory_pool.h"

#define STORAGE_NOT_CONSTANT UINT32_MAX

/* Another layer's knowledge about a storage's bytes (the names of their chunks): the first member
 * of that layer's own struct. Freed with the storage, or before its bytes are overwritten. */
typedef struct StorageAnnotation {
    void (*release)(struct StorageAnnotation *annotation);
} StorageAnnotation;

typedef struct Storage {
    Refcount refcount;
    /* Never written again: constants, inputs, mapped caches. */
    bool sealed;
    /* Made by AllocStorage: several tensors may share the storage and be written in place, so a
     * snapshot copies its live written extents at the safepoint instead of taking references. */
    bool opaque;
    /* Grows at its end: the bytes before `filled` are never written again, those after it are
     * spare. A tensor of the execution that ends at `filled` may be extended in place even if
     * others hold the storage, since the bytes that they see do not change. */
    bool append;
    uint8_t slot;            /* the slot of the execution: 0 host, 1 device */
    uint32_t unwritten;      /* of an opaque storage: its tensors that are not written */
    uint32_t constant_index; /* index in the executable's constants, or STORAGE_NOT_CONSTANT */
    Device *device;          /* borrowed: outlives its storages */
    MemoryPool *pool;        /* exists as long as its block; NULL: memory belongs to owner */
    uint64_t address;        /* of the device; 0 when size is 0 */
    uint64_t size;           /* bytes usable */
    uint64_t filled;         /* of an append storage; only the execution's thread reads it */
    void *owner;             /* for foreign memory: passed to release_owner when the storage is
                              * freed */
    void (*release_owner)(void *owner);
    _Atomic(StorageAnnotation *) annotation;
} Storage;

/* Makes a storage in a pool. *out_answer says whether there was memory: see memory_pool.h; *out is
 * set only for MEMORY_GRANTED. */
MUST_CHECK Error *storage_create(
    MemoryPool *pool, uint8_t slot, uint64_t size, MemoryAnswer *out_answer, Storage **out);
/* Makes an append storage filled with size bytes, which the caller writes. The room depends only on
 * size, so that a restored storage has the same room. No room is spare if the pool cannot give
 * more. */
MUST_CHECK Error *storage_create_append(
    MemoryPool *pool, uint8_t slot, uint64_t size, MemoryAnswer *out_answer, Storage **out);
/* Moves a pool's storage to another pool of the same device, at the same address. The caller must
 * be the only holder. False: the pool belongs to another device, or has no room; the storage is
 * unchanged. */
MUST_CHECK bool storage_move(Storage *storage, MemoryPool *to);
/* Makes a storage over memory that another owner keeps until release_owner(owner) is called. */
MUST_CHECK Error *storage_create_foreign(Device *device, uint8_t slot, uint64_t address,
    uint64_t size, void *owner, void (*release_owner)(void *owner), Storage **out);
/* Makes a storage outside any execution (inputs, constants): by memory_map or small, zeroed,
 * unsealed. cpu_device: any device whose addresses are pointers. Errors: EXHAUSTED. */
MUST_CHECK Error *storage_create_on_host(Device *cpu_device, uint64_t size, Storage **out);
/* Makes a storage over a part of another one, which it retains; several may share one. Sealed.
 * Errors: INVALID the part is outside the other one. */
MUST_CHECK Error *storage_create_within(
    Storage *whole, uint64_t offset, uint64_t size, Storage **out);
/* The stream of the storage's work: its pool's; NULL for other storages, which are written before
 * they are shared. */
DeviceStream *storage_stream(const Storage *storage);
/* Attaches an annotation while no holder may overwrite the storage: it is sealed, or has several
 * holders. False: there is one already, and the caller keeps this one. */
bool storage_annotate(Storage *storage, StorageAnnotation *annotation);
/* NULL: none. Borrowed, for as long as no holder may overwrite the storage. */
StorageAnnotation *storage_get_annotation(const Storage *storage);
/* Called before the storage's bytes are overwritten. */
void storage_forget_annotation(Storage *storage);
Storage *storage_retain(Storage *storage);
void storage_release(Storage *storage);
DEFINE_OWN(Storage, storage_release);
