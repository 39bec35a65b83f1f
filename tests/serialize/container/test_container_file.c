#include "tests/serialize/container_fixtures.h"

static void test_container_file_needs_every_chunk_of_its_manifest(void **state) {
    (void)state;
    MemoryStore store = {0};
    ByteWriter OWN_BYTES(manifest) = {0}, OWN_BYTES(bytes) = {0};
    Digest identity;
    example_container_write(memory_store_sink(&store), &manifest, &identity);
    memory_store_deinit(&store);
    OWN(ContainerFile, file) = NULL;
    assert_ok(container_file_create(NULL, &bytes, &file));
    assert_fails_saying(INVALID, "chunk 0 of bulk data 0 was not put",
        container_file_finish(file, manifest.data, manifest.size));
}

/* A file that was not finished is no container. */
static void test_container_file_has_no_magic_before_the_end(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bytes) = {0};
    OWN(ContainerFile, file) = NULL;
    assert_ok(container_file_create(NULL, &bytes, &file));
    assert_int_equal(container_probe(bytes.data, bytes.size), CONTAINER_ANY);
}

/* A thousand small chunks: the table of those put grows, none is lost, none stands twice. */
static void test_container_file_takes_each_of_many_chunks_once(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    ByteWriter OWN_BYTES(bytes) = {0}, OWN_BYTES(manifest) = {0};
    OWN(ContainerFile, file) = NULL;
    OWN(ContainerWriter, writer) = NULL;
    assert_ok(container_file_create(NULL, &bytes, &file));
    assert_ok(container_writer_create(
        CONTAINER_CHECKPOINT, NULL, container_file_get_sink(file), &writer));
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        uint32_t value = i % COUNT, index = 0;
        assert_ok(container_writer_add_bulk(writer, &value, sizeof value, CHUNK_SIZE,
            CHUNK_FILTER_WORD32, (KnownChunks){0}, &index));
        assert_int_equal(index, i);
    }
    Digest identity;
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    assert_ok(container_file_finish(file, manifest.data, manifest.size));
    OWN(Container, container) = NULL;
    assert_ok(container_open_memory(CONTAINER_CHECKPOINT, bytes.data, bytes.size, &container));
    assert_ok(container_check_identity(container, &identity));
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        uint32_t value = 0;
        assert_ok(
            container_read_bulks(container, &(BulkRead){i, &value}, 1, NULL, CHUNK_VERIFY_SHA256));
        assert_int_equal(value, i % COUNT);
    }
}

int test_container_file(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_file_needs_every_chunk_of_its_manifest),
        cmocka_unit_test(test_container_file_has_no_magic_before_the_end),
        cmocka_unit_test(test_container_file_takes_each_of_many_chunks_once),
    };
    return cmocka_run_group_tests_name("container_file", tests, NULL, NULL);
}
