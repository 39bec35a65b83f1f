#pragma once
/* What tests of formats need: cmocka, repeatable random data, and checks of Errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "serialize/chunk.h"

/* Each file's group: int test_chunk(void), called by main. */
#define GROUP(name) int test_##name(void);
#include "tests/serialize/groups.def"
#undef GROUP

/* Fails the test with the message when there is an error. */
#define assert_ok(expression) fixture_assert_ok((expression), #expression, __FILE__, __LINE__)
/* Fails the test unless there is an error of that code; frees it. */
#define assert_fails(CODE, expression)                                                             \
    fixture_assert_fails((expression), ERROR_##CODE, NULL, #expression, __FILE__, __LINE__)
/* The same, and the message must contain text. */
#define assert_fails_saying(CODE, text, expression)                                                \
    fixture_assert_fails((expression), ERROR_##CODE, (text), #expression, __FILE__, __LINE__)

void fixture_assert_ok(Error *owned_error, const char *what, const char *file, int line);
void fixture_assert_fails(Error *owned_error, ErrorCode code, const char *text, const char *what,
    const char *file, int line);

/* A small generator (splitmix64): the same numbers everywhere. */
uint64_t fixture_random(uint64_t *state);
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
