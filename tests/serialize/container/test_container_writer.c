#include "base/allocator.h"
#include "serialize/container/container_internal.h"
#include "tests/serialize/container_fixtures.h"

/* What another implementation has to produce, byte by byte. */
static void test_container_manifest_is_as_documented(void **state) {
    (void)state;
    OWN(ContainerWriter, writer) = NULL;
    MemoryStore store = {0};
    assert_ok(
        container_writer_create(CONTAINER_CHECKPOINT, NULL, memory_store_sink(&store), &writer));
    assert_ok(container_writer_add_section(writer, SECTION_FRAMES, "f", 1));
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity, expected;
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    static const uint8_t start[] = {'L', 'V', 'C', 'm', 'a', 'n', 'i', 0, 1, 0, 0, 0, 1, 0, 0, 0,
        33, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(manifest.size, sizeof start + 8 + 8 + 1);
    assert_memory_equal(manifest.data, start, sizeof start);
    ByteReader reader = byte_reader(manifest.data + sizeof start, 16);
    uint64_t checksum = 0;
    assert_ok(byte_read_u64(&reader, &checksum));
    assert_true(checksum == digest_xxh3("f", 1));
    assert_ok(byte_read_u64(&reader, &checksum));
    assert_true(checksum == digest_xxh3(manifest.data, sizeof start + 8));
    assert_int_equal(manifest.data[manifest.size - 1], 'f');
    assert_ok(digest_sha256(manifest.data, manifest.size, &expected));
    assert_true(digest_equal(&identity, &expected));
}

/* Order of adding, threads and packing do not show in the identity; content does. */
static void test_container_identity_depends_on_content_alone(void **state) {
    (void)state;
    Digest identities[3];
    OWN(WorkerPool, pool) = NULL;
    assert_ok(worker_pool_create("test", 2, &pool));
    for (int i = 0; i < 3; i++) {
        MemoryStore store = {0};
        OWN(ContainerWriter, writer) = NULL;
        assert_ok(container_writer_create(
            CONTAINER_CHECKPOINT, i ? pool : NULL, memory_store_sink(&store), &writer));
        uint32_t index;
        if (i) assert_ok(container_writer_add_section(writer, SECTION_FRAMES, "a", 1));
        assert_ok(container_writer_add_section(writer, SECTION_HEADER, "b", 1));
        assert_ok(
            container_writer_add_bulk(writer, example_bulk(), EXAMPLE_BULK_SIZE, CHUNK_APPEND_SIZE,
                i ? CHUNK_FILTER_WORD32 : CHUNK_FILTER_BYTES, (KnownChunks){0}, &index));
        if (!i) assert_ok(container_writer_add_section(writer, SECTION_FRAMES, "a", 1));
        if (i == 2)
            assert_ok(container_writer_add_bulk_refs(
                writer, container_writer_get_refs(writer, 0), 100, CHUNK_SIZE, &index));
        ByteWriter OWN_BYTES(manifest) = {0};
        assert_ok(container_writer_finish(writer, &manifest, &identities[i]));
        memory_store_deinit(&store);
    }
    assert_true(digest_equal(&identities[0], &identities[1]));
    assert_false(digest_equal(&identities[1], &identities[2]));
}

/* Bulk data that is put at the end makes the manifest that data put at once makes. */
static void test_container_of_data_added_later_is_the_same(void **state) {
    (void)state;
    Digest identities[2];
    for (int later = 0; later < 2; later++) {
        MemoryStore store = {0};
        OWN(ContainerWriter, writer) = NULL;
        ByteWriter OWN_BYTES(manifest) = {0};
        uint32_t index;
        assert_ok(container_writer_create(
            CONTAINER_CHECKPOINT, NULL, memory_store_sink(&store), &writer));
        for (uint32_t i = 0; i < 4; i++) {
            const size_t size = i == 2 ? 0 : EXAMPLE_BULK_SIZE - i;
            if (later && i != 1)
                assert_ok(container_writer_add_bulk_later(
                    writer, example_bulk(), size, CHUNK_FILTER_WORD32, &index));
            else
                assert_ok(container_writer_add_bulk(writer, example_bulk(), size, CHUNK_SIZE,
                    CHUNK_FILTER_WORD32, (KnownChunks){0}, &index));
            assert_int_equal(index, i);
        }
        assert_ok(container_writer_finish(writer, &manifest, &identities[later]));
        assert_int_equal(store.count, 3);
        memory_store_deinit(&store);
    }
    assert_true(digest_equal(&identities[0], &identities[1]));
}

/* A few bytes must not unpack to a gigabyte; what packs so well is kept unpacked. */
static void test_container_packing_is_bounded(void **state) {
    (void)state;
    enum { ZEROS = 8 << 20 };
    void *memory = NULL;
    assert_ok(memory_alloc(ZEROS, 1, &memory));
    MemoryStore store = {0};
    OWN(ContainerWriter, writer) = NULL;
    assert_ok(
        container_writer_create(CONTAINER_CHECKPOINT, NULL, memory_store_sink(&store), &writer));
    assert_ok(container_writer_add_section(writer, SECTION_OBJECTS, memory, ZEROS));
    memory_free(memory);
    ByteWriter OWN_BYTES(manifest) = {0}, OWN_BYTES(packed) = {0}, OWN_BYTES(bomb) = {0};
    Digest identity;
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    assert_ok(container_pack_manifest(manifest.data, manifest.size, &packed));
    assert_int_equal(packed.size, manifest.size);
    /* 1 GiB of zeros announced in the header of a frame of 17 bytes */
    static const uint8_t frame[17] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40};
    byte_write_bytes(&bomb, PACKED_MAGIC, MAGIC_SIZE);
    byte_write_u64(&bomb, digest_xxh3(frame, sizeof frame));
    byte_write_bytes(&bomb, frame, sizeof frame);
    OWN(Container, container) = NULL;
    assert_fails_saying(CORRUPT, "unpack to 1073741824",
        container_open_manifest(CONTAINER_ANY, bomb.data, bomb.size, (ChunkSource){0}, &container));
}

int test_container_writer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_manifest_is_as_documented),
        cmocka_unit_test(test_container_identity_depends_on_content_alone),
        cmocka_unit_test(test_container_of_data_added_later_is_the_same),
        cmocka_unit_test(test_container_packing_is_bounded),
    };
    return cmocka_run_group_tests_name("container_writer", tests, NULL, NULL);
}
