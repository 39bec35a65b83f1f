#include <string.h>

#include "base/allocator.h"
#include "tests/serialize/serialize_fixtures.h"

enum { COUNT = 40, EACH = 2000 };

static void fill(MemoryStore *store, ChunkRef *refs) {
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t data[EACH];
        memset(data, (int)(i % 33), sizeof data);
        assert_ok(chunk_write_data(NULL, data, sizeof data, CHUNK_SIZE, CHUNK_FILTER_BYTES,
            (KnownChunks){0}, memory_store_sink(store), &refs[i]));
    }
}

/* A list may name a chunk twice, and chunks that the target has are left alone. */
static void test_chunk_copy_moves_what_is_missing(void **state) {
    (void)state;
    MemoryStore store = {0}, target = {0};
    ChunkRef refs[COUNT];
    OWN(WorkerPool, pool) = NULL;
    fill(&store, refs);
    assert_ok(worker_pool_create("test", 2, &pool));
    for (int i = 0; i < 2; i++) {
        assert_ok(chunk_copy(refs, COUNT, pool, CHUNK_VERIFY_SHA256, memory_store_source(&store),
            memory_store_sink(&target)));
        assert_int_equal(target.count, 33);
        assert_int_equal(target.put_count, 33);
    }
    assert_ok(chunk_copy(
        NULL, 0, NULL, CHUNK_VERIFY_SHA256, (ChunkSource){0}, memory_store_sink(&target)));
    memory_store_deinit(&target);
    memory_store_deinit(&store);
}

static void test_chunk_copy_believes_no_name(void **state) {
    (void)state;
    MemoryStore store = {0}, target = {0};
    ChunkRef refs[COUNT], missing = {.raw_size = 7};
    fill(&store, refs);
    assert_fails(NOT_FOUND, chunk_copy(&missing, 1, NULL, CHUNK_VERIFY_SHA256,
                                memory_store_source(&store), memory_store_sink(&target)));
    /* another chunk's stored bytes under this name: only SHA-256 sees it */
    ByteWriter *first = memory_store_get(&store, 0), *second = memory_store_get(&store, 1);
    first->size = 0;
    byte_write_bytes(first, second->data, second->size);
    assert_fails_saying(CORRUPT, "SHA-256",
        chunk_copy(refs, 1, NULL, CHUNK_VERIFY_SHA256, memory_store_source(&store),
            memory_store_sink(&target)));
    assert_int_equal(target.count, 0);
    memory_store_deinit(&target);
    memory_store_deinit(&store);
}

static void test_chunk_verify_names_what_is_wrong(void **state) {
    (void)state;
    MemoryStore store = {0};
    ChunkRef refs[COUNT];
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 2, &pool));
    fill(&store, refs);
    ChunkSource source = memory_store_source(&store);
    assert_ok(chunk_verify(refs, COUNT, pool, CHUNK_VERIFY_SHA256, source));
    assert_ok(chunk_verify(refs, 0, pool, CHUNK_VERIFY_SHA256, source));
    refs[COUNT - 1].raw_size--;
    assert_fails(CORRUPT, chunk_verify(refs, COUNT, pool, CHUNK_VERIFY_SHA256, source));
    refs[COUNT - 1].hash.bytes[3] ^= 1;
    assert_fails(NOT_FOUND, chunk_verify(refs, COUNT, NULL, CHUNK_VERIFY_SHA256, source));
    memory_store_deinit(&store);
}

int test_chunk_copy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_copy_moves_what_is_missing),
        cmocka_unit_test(test_chunk_copy_believes_no_name),
        cmocka_unit_test(test_chunk_verify_names_what_is_wrong),
    };
    return cmocka_run_group_tests_name("chunk_copy", tests, NULL, NULL);
}
