#include "kernels/sim/sim_memory.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/allocator.h"

static const uint64_t TAG = (uint64_t)0x51 << 56;
enum { INDEX_SHIFT = 48, GUARD_BYTES = 1 << 16 };

typedef struct Block {
    uint64_t address;
    uint64_t size;
    uint64_t host;
} Block;

struct SimMemory {
    Device *host;
    uint64_t limit_bytes;
    pthread_mutex_t mutex; /* guards the members below */
    uint64_t used_bytes;
    uint64_t next; /* address of the next allocation */
    Block *blocks; /* by address: handles only grow, so appending keeps the order */
    size_t count;
    size_t capacity;
};

Error *sim_memory_create(
    Device *host, uint32_t device_index, uint64_t limit_bytes, SimMemory **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(SimMemory), &block));
    SimMemory *memory = block;
    memory->host = host;
    memory->limit_bytes = limit_bytes;
    memory->next = TAG | (uint64_t)device_index << INDEX_SHIFT | GUARD_BYTES;
    (void)pthread_mutex_init(&memory->mutex, NULL);
    *out = memory;
    return NULL;
}

void sim_memory_release(SimMemory *memory) {
    if (!memory) return;
    for (size_t i = 0; i < memory->count; i++)
        memory->host->class_->free(
            memory->host, NULL, memory->blocks[i].host, memory->blocks[i].size);
    memory_free(memory->blocks);
    (void)pthread_mutex_destroy(&memory->mutex);
    memory_free(memory);
}

/* Index of the last block that starts at or before the address; count when there is none. */
static size_t find(const SimMemory *memory, uint64_t address) {
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : memory->count;
}

static Error *alloc_locked(SimMemory *memory, uint64_t size, uint64_t *out_address) {
    if (size > memory->limit_bytes - memory->used_bytes)
        FAIL(EXHAUSTED, "%" PRIu64 " bytes of %" PRIu64 ", %" PRIu64 " are in use", size,
            memory->limit_bytes, memory->used_bytes);
    void *array = memory->blocks;
    TRY(memory_grow(&array, memory->count, &memory->capacity, sizeof memory->blocks[0]));
    memory->blocks = array;
    Block block = {.address = memory->next, .size = size};
    TRY(memory->host->class_->alloc(memory->host, NULL, size, &block.host));
    memory->blocks[memory->count++] = block;
    memory->used_bytes += size;
    memory->next += (size + 2 * GUARD_BYTES - 1) & ~(uint64_t)(GUARD_BYTES - 1);
    *out_address = block.address;
    return NULL;
}

Error *sim_memory_alloc(SimMemory *memory, uint64_t size, uint64_t *out_address) {
    (void)pthread_mutex_lock(&memory->mutex);
    Error *error = alloc_locked(memory, size, out_address);
    (void)pthread_mutex_unlock(&memory->mutex);
    return error;
}

void sim_memory_free(SimMemory *memory, uint64_t address, uint64_t size) {
    (void)pthread_mutex_lock(&memory->mutex);
    size_t index = find(memory, address);
    bool known = index < memory->count && memory->blocks[index].address == address &&
                 memory->blocks[index].size == size;
    assert(known);
    if (known) {
        memory->host->class_->free(memory->host, NULL, memory->blocks[index].host, size);
        memory->used_bytes -= size;
        memory->count--;
        memmove(&memory->blocks[index], &memory->blocks[index + 1],
            (memory->count - index) * sizeof memory->blocks[0]);
    }
    (void)pthread_mutex_unlock(&memory->mutex);
}

static Error *resolve_locked(
    const SimMemory *memory, uint64_t address, uint64_t size, uint64_t *out_host) {
    size_t index = find(memory, address);
    if (index == memory->count)
        FAIL(INTERNAL, "address 0x%" PRIx64 " is in no allocation", address);
    const Block *block = &memory->blocks[index];
    uint64_t offset = address - block->address;
    if (offset > block->size || size > block->size - offset)
        FAIL(INTERNAL,
            "%" PRIu64 " bytes at 0x%" PRIx64 " leave the allocation of %" PRIu64
            " bytes at 0x%" PRIx64,
            size, address, block->size, block->address);
    *out_host = block->host + offset;
    return NULL;
}

Error *sim_memory_resolve(SimMemory *memory, uint64_t address, uint64_t size, uint64_t *out_host) {
    (void)pthread_mutex_lock(&memory->mutex);
    Error *error = resolve_locked(memory, address, size, out_host);
    (void)pthread_mutex_unlock(&memory->mutex);
    return error;
}

DeviceMemory sim_memory_info(SimMemory *memory) {
    (void)pthread_mutex_lock(&memory->mutex);
    DeviceMemory info = {memory->limit_bytes, memory->limit_bytes - memory->used_bytes};
    (void)pthread_mutex_unlock(&memory->mutex);
    return info;
}
