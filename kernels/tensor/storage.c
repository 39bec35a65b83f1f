#include "kernels/tensor/storage.h"

#include <assert.h>
#include <inttypes.h>

#include "base/allocator.h"

enum { APPEND_ROOM_MIN = 4096 };

static Error *make(Device *device, uint8_t slot, uint64_t size, Storage **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(Storage), &block));
    Storage *storage = block;
    refcount_init(&storage->refcount);
    storage->slot = slot;
    storage->constant_index = STORAGE_NOT_CONSTANT;
    storage->device = device;
    storage->size = size;
    atomic_init(&storage->annotation, NULL);
    *out = storage;
    return NULL;
}

Error *storage_create(
    MemoryPool *pool, uint8_t slot, uint64_t size, MemoryAnswer *out_answer, Storage **out) {
    OWN(Storage, storage) = NULL;
    TRY(make(memory_pool_get_device(pool), slot, size, &storage));
    MemoryAnswer answer = {.kind = MEMORY_GRANTED};
    if (size > 0) TRY(memory_pool_alloc(pool, size, &answer, &storage->address));
    if (answer.kind == MEMORY_GRANTED) {
        storage->pool = size > 0 ? pool : memory_pool_retain(pool);
        *out = TAKE(storage);
    }
    *out_answer = answer;
    return NULL;
}

/* Rounds up to a power of two, so that the bytes copied while a storage grows stay below twice its
 * last size. */
static uint64_t append_room(uint64_t size) {
    uint64_t room = APPEND_ROOM_MIN;
    while (room < size && room <= UINT64_MAX / 4) room *= 2;
    return room < size ? size : room;
}

Error *storage_create_append(
    MemoryPool *pool, uint8_t slot, uint64_t size, MemoryAnswer *out_answer, Storage **out) {
    Error *error = storage_create(pool, slot, append_room(size), out_answer, out);
    bool exhausted = error_code(error) == ERROR_EXHAUSTED;
    if (exhausted || (!error && out_answer->kind != MEMORY_GRANTED)) {
        error_free(error);
        error = storage_create(pool, slot, size, out_answer, out);
    }
    if (!error && out_answer->kind == MEMORY_GRANTED) {
        (*out)->append = true;
        (*out)->filled = size;
    }
    return error;
}

bool storage_move(Storage *storage, MemoryPool *to) {
    assert(refcount_is_sole(&storage->refcount) && storage->pool);
    if (storage->pool == to) return true;
    if (memory_pool_get_device(to) != storage->device) return false;
    if (storage->size > 0) {
        if (!memory_pool_move(storage->pool, to, storage->address, storage->size)) return false;
    } else {
        memory_pool_release(storage->pool);
        (void)memory_pool_retain(to);
    }
    storage->pool = to;
    return true;
}

Error *storage_create_foreign(Device *device, uint8_t slot, uint64_t address, uint64_t size,
    void *owner, void (*release_owner)(void *owner), Storage **out) {
    Storage *storage;
    TRY(make(device, slot, size, &storage));
    storage->address = address;
    storage->owner = owner;
    storage->release_owner = release_owner;
    *out = storage;
    return NULL;
}

/* The memory of storage_create_on_host; freed with the storage. */
typedef struct HostBlock {
    Device *device;
    uint64_t address;
    uint64_t size;
} HostBlock;

static void host_block_release(void *owner) {
    HostBlock *block = owner;
    if (block->address)
        block->device->class_->free(block->device, NULL, block->address, block->size);
    memory_free(block);
}

Error *storage_create_on_host(Device *cpu_device, uint64_t size, Storage **out) {
    assert(cpu_device->class_->host_memory);
    void *memory;
    TRY(memory_alloc(1, sizeof(HostBlock), &memory));
    HostBlock *block = memory;
    *block = (HostBlock){cpu_device, 0, size};
    Error *error = NULL;
    if (size > 0) error = cpu_device->class_->alloc(cpu_device, NULL, size, &block->address);
    if (!error)
        error = storage_create_foreign(
            cpu_device, 0, block->address, size, block, host_block_release, out);
    if (error) host_block_release(block);
    return error;
}

static void release_whole(void *owner) { storage_release(owner); }

Error *storage_create_within(Storage *whole, uint64_t offset, uint64_t size, Storage **out) {
    if (offset > whole->size || size > whole->size - offset)
        FAIL(INVALID, "a storage of %" PRIu64 " bytes at %" PRIu64 " in one of %" PRIu64, size,
            offset, whole->size);
    TRY(storage_create_foreign(whole->device, whole->slot, size ? whole->address + offset : 0, size,
        whole, release_whole, out));
    (void)storage_retain(whole);
    (*out)->sealed = true;
    return NULL;
}

DeviceStream *storage_stream(const Storage *storage) {
    return storage->pool ? memory_pool_get_stream(storage->pool) : NULL;
}

bool storage_annotate(Storage *storage, StorageAnnotation *annotation) {
    StorageAnnotation *none = NULL;
    return atomic_compare_exchange_strong_explicit(
        &storage->annotation, &none, annotation, memory_order_acq_rel, memory_order_acquire);
}

StorageAnnotation *storage_get_annotation(const Storage *storage) {
    return atomic_load_explicit(&storage->annotation, memory_order_acquire);
}

void storage_forget_annotation(Storage *storage) {
    /* annotations are added only while the bytes may not be overwritten, so none appears now */
    if (!storage_get_annotation(storage)) return;
    StorageAnnotation *annotation =
        atomic_exchange_explicit(&storage->annotation, NULL, memory_order_acq_rel);
    if (annotation) annotation->release(annotation);
}

Storage *storage_retain(Storage *storage) {
    refcount_retain(&storage->refcount);
    return storage;
}

void storage_release(Storage *storage) {
    if (!storage || !refcount_release(&storage->refcount)) return;
    storage_forget_annotation(storage);
    if (storage->pool && storage->size > 0)
        memory_pool_free(storage->pool, storage->address, storage->size);
    else
        memory_pool_release(storage->pool);
    if (storage->release_owner) storage->release_owner(storage->owner);
    memory_free(storage);
}
