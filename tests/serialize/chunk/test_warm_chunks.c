#include "serialize/chunk/warm_chunks.h"

#include "tests/serialize/serialize_fixtures.h"

enum { COUNT = 5, SIZE = COUNT * CHUNK_SIZE - 1000, ELEMENTS = COUNT * CHUNK_SIZE / sizeof(float) };

static float raw[ELEMENTS], got[ELEMENTS];

/* A source that counts what is asked of it. */
typedef struct CountingSource {
    ChunkSource from;
    _Atomic size_t gets;
} CountingSource;

static Error *counting_get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    CountingSource *source = self;
    source->gets++;
    return source->from.get(source->from.self, ref, inout_stored);
}

static void write_chunks(MemoryStore *store, ChunkRef refs[COUNT]) {
    uint64_t seed = 3;
    fixture_fill_normal(&seed, raw, ELEMENTS, 1);
    assert_ok(chunk_write_data(NULL, raw, SIZE, CHUNK_SIZE, CHUNK_FILTER_FLOAT32, (KnownChunks){0},
        memory_store_sink(store), refs));
}

static void test_warm_chunks_copies_what_is_there_and_reads_the_rest(void **state) {
    (void)state;
    MemoryStore store = {0};
    WarmChunks warm = {0};
    ChunkRef refs[COUNT];
    OWN(WorkerPool, pool) = NULL;
    uint64_t copied = 0, decoded = 0;
    write_chunks(&store, refs);
    CountingSource source = {.from = memory_store_source(&store)};
    const ChunkSource counting = {counting_get, &source};
    assert_ok(worker_pool_create("warm", 2, &pool));
    const uint8_t *bytes = (const uint8_t *)raw;
    assert_ok(warm_chunks_add(&warm, &refs[3], 2, bytes + 3 * CHUNK_SIZE));
    assert_ok(warm_chunks_add(&warm, &refs[1], 1, bytes + CHUNK_SIZE));
    const ChunkRun runs[] = {{refs, 2, got}, {refs + 2, 3, got + 2 * CHUNK_SIZE / sizeof(float)}};
    assert_ok(
        warm_chunks_read(&warm, pool, runs, 2, CHUNK_VERIFY_SHA256, counting, &copied, &decoded));
    assert_memory_equal(got, raw, SIZE);
    assert_int_equal(source.gets, 2);
    assert_int_equal(decoded, 2 * CHUNK_SIZE);
    assert_int_equal(copied, SIZE - 2 * CHUNK_SIZE);
    warm_chunks_deinit(&warm);
    assert_ok(
        warm_chunks_read(&warm, NULL, runs, 2, CHUNK_VERIFY_SHA256, counting, &copied, &decoded));
    assert_int_equal(source.gets, 2 + COUNT);
    memory_store_deinit(&store);
}

/* A name with another size is another chunk: what is there is not copied beyond its end. */
static void test_warm_chunks_takes_no_chunk_of_another_size(void **state) {
    (void)state;
    MemoryStore store = {0};
    WarmChunks warm = {0};
    ChunkRef refs[COUNT];
    uint64_t copied = 0, decoded = 0;
    write_chunks(&store, refs);
    assert_ok(warm_chunks_add(&warm, &refs[COUNT - 1], 1, raw));
    ChunkRef forged = refs[COUNT - 1];
    forged.raw_size++;
    const ChunkRun run = {&forged, 1, got};
    Error *error = warm_chunks_read(
        &warm, NULL, &run, 1, CHUNK_VERIFY_SHA256, memory_store_source(&store), &copied, &decoded);
    assert_fails(CORRUPT, error);
    assert_int_equal(copied, 0);
    warm_chunks_deinit(&warm);
    memory_store_deinit(&store);
}

int test_warm_chunks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_chunks_copies_what_is_there_and_reads_the_rest),
        cmocka_unit_test(test_warm_chunks_takes_no_chunk_of_another_size),
    };
    return cmocka_run_group_tests_name("warm_chunks", tests, NULL, NULL);
}
