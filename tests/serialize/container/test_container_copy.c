#include "base/allocator.h"
#include "tests/serialize/container_fixtures.h"

/* Export and import: chunks travel as they are stored; from outside they are verified. */
static void test_container_copy_moves_chunks_and_verifies(void **state) {
    (void)state;
    MemoryStore store = {0}, target = {0};
    OWN(ContainerWriter, writer) = NULL;
    assert_ok(
        container_writer_create(CONTAINER_CHECKPOINT, NULL, memory_store_sink(&store), &writer));
    enum { COUNT = 40, SIZE = COUNT * CHUNK_APPEND_SIZE };
    void *memory = NULL;
    assert_ok(memory_alloc(1, SIZE, &memory));
    uint8_t *data = memory;
    for (size_t i = 0; i < SIZE; i++) data[i] = (uint8_t)(i / CHUNK_APPEND_SIZE % 33);
    uint32_t index;
    assert_ok(container_writer_add_bulk(
        writer, data, SIZE, CHUNK_APPEND_SIZE, CHUNK_FILTER_BYTES, (KnownChunks){0}, &index));
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    OWN(Container, container) = NULL;
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, manifest.data, manifest.size,
        memory_store_source(&store), &container));
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 2, &pool));
    for (int i = 0; i < 2; i++) { /* the second time there is nothing left to do */
        assert_ok(container_copy_chunks(
            container, pool, CHUNK_VERIFY_SHA256, memory_store_sink(&target)));
        assert_int_equal(target.count, 33);
        assert_int_equal(target.put_count, 33);
    }
    memory_store_deinit(&target);
    /* another chunk's stored bytes under this name: only SHA-256 sees it */
    ByteWriter *first = memory_store_get(&store, 0);
    first->size = 0;
    byte_write_bytes(first, memory_store_get(&store, 1)->data, memory_store_get(&store, 1)->size);
    assert_fails_saying(CORRUPT, "SHA-256",
        container_copy_chunks(container, pool, CHUNK_VERIFY_SHA256, memory_store_sink(&target)));
    assert_int_equal(target.count, 0);
    memory_free(data);
    memory_store_deinit(&store);
}

/* A file's chunks that a sink has are checked as they stand in the file; the others are left to
 * whoever copies them. */
static void test_container_check_known_chunks_sees_damage(void **state) {
    (void)state;
    MemoryStore store = {0}, target = {0};
    OWN(ContainerWriter, writer) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    OWN(ContainerFile, file) = NULL;
    OWN(Container, stored) = NULL;
    enum { SIZE = 2 * CHUNK_APPEND_SIZE, FILE_HEADER = 48, DAMAGED = FILE_HEADER + 20 };
    uint8_t data[SIZE];
    uint32_t index, seed = 1;
    Digest identity;
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    assert_ok(
        container_writer_create(CONTAINER_CHECKPOINT, NULL, memory_store_sink(&store), &writer));
    assert_ok(container_writer_add_bulk(
        writer, data, SIZE, CHUNK_APPEND_SIZE, CHUNK_FILTER_BYTES, (KnownChunks){0}, &index));
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    assert_ok(container_open_manifest(
        CONTAINER_CHECKPOINT, manifest.data, manifest.size, memory_store_source(&store), &stored));
    assert_ok(container_file_create(NULL, &bytes, &file));
    assert_ok(
        container_copy_chunks(stored, NULL, CHUNK_VERIFY_SHA256, container_file_get_sink(file)));
    assert_ok(container_file_finish(file, manifest.data, manifest.size));
    for (int damaged = 0; damaged < 2; damaged++) {
        OWN(Container, container) = NULL;
        bytes.data[DAMAGED] ^= (uint8_t)damaged;
        assert_ok(container_open_memory(CONTAINER_CHECKPOINT, bytes.data, bytes.size, &container));
        assert_ok(container_check_known_chunks(
            container, NULL, CHUNK_VERIFY_SHA256, memory_store_sink(&target)));
        assert_ok(
            container_copy_chunks(container, NULL, CHUNK_VERIFY_SHA256, memory_store_sink(&store)));
        Error *error = container_check_known_chunks(
            container, NULL, CHUNK_VERIFY_SHA256, memory_store_sink(&store));
        if (damaged)
            assert_fails_saying(CORRUPT, "checksum", error);
        else
            assert_ok(error);
    }
    /* of a manifest alone there is no file to be damaged */
    assert_ok(
        container_check_known_chunks(stored, NULL, CHUNK_VERIFY_SHA256, memory_store_sink(&store)));
    memory_store_deinit(&target);
    memory_store_deinit(&store);
}

int test_container_copy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_check_known_chunks_sees_damage),
        cmocka_unit_test(test_container_copy_moves_chunks_and_verifies),
    };
    return cmocka_run_group_tests_name("container_copy", tests, NULL, NULL);
}
