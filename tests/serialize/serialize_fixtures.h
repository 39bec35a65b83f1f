#pragma once
/* What tests of formats share: data like weights, a chunk store in memory. */
#include "serialize/chunk/chunk.h"
#include "tests/support/test_support.h"

/* Like trained weights: float32, normally distributed, times scale. */
void fixture_fill_normal(uint64_t *state, float *out, size_t count, float scale);

/* A chunk store in memory: a sink and a source. fail_put_at: the n-th put fails (0: none). */
typedef struct MemoryStore {
    struct MemoryChunk *chunks;
    size_t count;
    size_t capacity;
    size_t fail_put_at;
    size_t put_count;
    size_t find_count;
    int inside; /* detects two threads at once */
} MemoryStore;

void memory_store_deinit(MemoryStore *store);
ChunkSink memory_store_sink(MemoryStore *store);
ChunkSource memory_store_source(MemoryStore *store);
/* The stored bytes of chunk i in the order of puts, to be damaged by tests. */
ByteWriter *memory_store_get(MemoryStore *store, size_t index);
