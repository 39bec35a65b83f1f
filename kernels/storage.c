#include "kernels/storage.h"

#include "base/allocator.h"

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
        storage->pool = memory_pool_retain(pool);
        *out = TAKE(storage);
    }
    *out_answer = answer;
    return NULL;
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

Storage *storage_retain(Storage *storage) {
    refcount_retain(&storage->refcount);
    return storage;
}

void storage_release(Storage *storage) {
    if (!storage || !refcount_release(&storage->refcount)) return;
    void *annotation = atomic_load_explicit(&storage->annotation, memory_order_acquire);
    if (annotation) storage->release_annotation(annotation);
    if (storage->pool) {
        if (storage->address) memory_pool_free(storage->pool, storage->address, storage->size);
        memory_pool_release(storage->pool);
    }
    if (storage->release_owner) storage->release_owner(storage->owner);
    memory_free(storage);
}
