#include "tests/serialize/serialize_fixtures.h"

#include <math.h>

#include "base/allocator.h"

void fixture_fill_normal(uint64_t *state, float *out, size_t count, float scale) {
    for (size_t i = 0; i < count; i++) {
        double u = (double)(test_random(state) >> 11) * 0x1p-53 + 0x1p-54;
        double v = (double)(test_random(state) >> 11) * 0x1p-53;
        out[i] = (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v)) * scale;
    }
}

typedef struct MemoryChunk {
    ChunkRef ref;
    ByteWriter stored;
} MemoryChunk;

void memory_store_deinit(MemoryStore *store) {
    for (size_t i = 0; i < store->count; i++) byte_writer_deinit(&store->chunks[i].stored);
    memory_free(store->chunks);
    *store = (MemoryStore){0};
}

static MemoryChunk *memory_store_find(const MemoryStore *store, const Digest *hash) {
    for (size_t i = 0; i < store->count; i++)
        if (digest_equal(&store->chunks[i].ref.hash, hash)) return &store->chunks[i];
    return NULL;
}

static Error *memory_sink_find(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    MemoryStore *store = self;
    if (__atomic_exchange_n(&store->inside, 1, __ATOMIC_ACQ_REL))
        FAIL(INTERNAL, "two threads in a sink");
    store->find_count += count;
    for (size_t i = 0; i < count; i++)
        out_found[i] = memory_store_find(store, &refs[i].hash) != NULL;
    __atomic_store_n(&store->inside, 0, __ATOMIC_RELEASE);
    return NULL;
}

static Error *memory_sink_put(
    void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    MemoryStore *store = self;
    if (__atomic_exchange_n(&store->inside, 1, __ATOMIC_ACQ_REL))
        FAIL(INTERNAL, "two threads in a sink");
    store->put_count++;
    if (store->put_count == store->fail_put_at) { /* another thread may be about to ask */
        __atomic_store_n(&store->inside, 0, __ATOMIC_RELEASE);
        FAIL(IO, "the disk says no");
    }
    void *chunks = store->chunks;
    TRY(memory_grow(&chunks, store->count, &store->capacity, sizeof *store->chunks));
    store->chunks = chunks;
    MemoryChunk *chunk = &store->chunks[store->count++];
    *chunk = (MemoryChunk){.ref = *ref};
    byte_write_bytes(&chunk->stored, stored, stored_size);
    __atomic_store_n(&store->inside, 0, __ATOMIC_RELEASE);
    return NULL;
}

static Error *memory_source_get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    MemoryChunk *chunk = memory_store_find(self, &ref->hash);
    if (!chunk) FAIL(NOT_FOUND, "no such chunk");
    inout_stored->size = 0;
    byte_write_bytes(inout_stored, chunk->stored.data, chunk->stored.size);
    return NULL;
}

ChunkSink memory_store_sink(MemoryStore *store) {
    return (ChunkSink){memory_sink_find, memory_sink_put, store};
}

ChunkSource memory_store_source(MemoryStore *store) {
    return (ChunkSource){memory_source_get, store};
}

ByteWriter *memory_store_get(MemoryStore *store, size_t index) {
    return &store->chunks[index].stored;
}
