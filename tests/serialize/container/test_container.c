#include "serialize/container/container.h"

#include <stdio.h>

#include "base/allocator.h"
#include "tests/serialize/container_fixtures.h"

static void check_section(const Container *container, SectionNumber number, const char *text) {
    ByteReader reader;
    assert_ok(container_get_section(container, number, &reader));
    assert_int_equal(byte_reader_left(&reader), strlen(text));
    assert_memory_equal(reader.data, text, strlen(text));
}

static void check_example(const Container *container, const Digest *identity) {
    assert_int_equal(container_get_kind(container), CONTAINER_EXECUTABLE);
    assert_ok(container_check_identity(container, identity));
    assert_int_equal(container_section_count(container), 4);
    check_section(container, SECTION_CODE, "code!");
    check_section(container, SECTION_NAMES, "name");
    check_section(container, SECTION_GLOBALS, "");
    assert_int_equal(container_bulk_count(container), 2);
    assert_int_equal(container_bulk_size_total(container), EXAMPLE_BULK_SIZE);
    uint8_t back[EXAMPLE_BULK_SIZE];
    assert_ok(container_read_bulks(container, &(BulkRead){0, back}, 1, NULL, CHUNK_VERIFY_SHA256));
    assert_memory_equal(back, example_bulk(), EXAMPLE_BULK_SIZE);
    assert_ok(container_read_bulks(container, &(BulkRead){1, NULL}, 1, NULL, CHUNK_VERIFY_SHA256));
}

static void test_container_round_trips_through_a_store(void **state) {
    (void)state;
    MemoryStore store = {0};
    ByteWriter OWN_BYTES(manifest) = {0}, OWN_BYTES(packed) = {0};
    Digest identity;
    example_container_write(memory_store_sink(&store), &manifest, &identity);
    assert_int_equal(store.count, 2);
    assert_ok(container_pack_manifest(manifest.data, manifest.size, &packed));
    for (int i = 0; i < 2; i++) {
        const ByteWriter *kept = i ? &packed : &manifest;
        OWN(Container, container) = NULL;
        assert_ok(container_open_manifest(
            CONTAINER_EXECUTABLE, kept->data, kept->size, memory_store_source(&store), &container));
        check_example(container, &identity);
        assert_int_equal(container_get_manifest(container).size, manifest.size);
        assert_memory_equal(container_get_manifest(container).data, manifest.data, manifest.size);
    }
    memory_store_deinit(&store);
}

static void test_container_round_trips_through_a_file(void **state) {
    (void)state;
    char folder[64], path[80];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/example.lvx", folder);
    ByteWriter OWN_BYTES(bytes) = {0}, OWN_BYTES(manifest) = {0};
    Digest identity, file_identity;
    example_container_file(&bytes, &identity);
    {
        OWN(FileOutput, output) = NULL;
        OWN(ContainerFile, file) = NULL;
        assert_ok(file_output_create(path, &output));
        assert_ok(container_file_create(output, NULL, &file));
        example_container_write(container_file_get_sink(file), &manifest, &file_identity);
        assert_ok(container_file_finish(file, manifest.data, manifest.size));
        assert_ok(file_output_commit(output));
    }
    assert_true(digest_equal(&identity, &file_identity));
    uint8_t *data = NULL;
    size_t size = 0;
    assert_ok(file_read(path, 1 << 20, &data, &size));
    assert_int_equal(size, bytes.size);
    assert_memory_equal(data, bytes.data, size);
    assert_int_equal(container_probe(data, size), CONTAINER_EXECUTABLE);
    OWN(Container, from_memory) = NULL;
    OWN(Container, from_path) = NULL;
    assert_ok(container_open_memory(CONTAINER_ANY, data, size, &from_memory));
    assert_ok(container_open_path(CONTAINER_EXECUTABLE, path, &from_path));
    check_example(from_memory, &identity);
    check_example(from_path, &identity);
    memory_unmap(data, size);
    test_folder_remove(folder);
}

static void test_container_refuses_the_other_kind(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bytes) = {0};
    Digest identity;
    example_container_file(&bytes, &identity);
    OWN(Container, container) = NULL;
    assert_fails_saying(INVALID, "an executable, not a checkpoint",
        container_open_memory(CONTAINER_CHECKPOINT, bytes.data, bytes.size, &container));
    assert_int_equal(container_probe("\x89LVC\r\n\x1a\n", 8), CONTAINER_CHECKPOINT);
    assert_int_equal(container_probe("\x89LVC\r\n\x1a", 7), CONTAINER_ANY);
}

/* Numbers are stored: no two sections share one, whatever their kinds. */
static void test_container_section_numbers_are_unique(void **state) {
    (void)state;
    static const uint32_t numbers[] = {
#define SECTION(number, kind, name, text, flag, meaning) number,
#include "serialize/container/sections.def"
#undef SECTION
    };
    for (size_t i = 1; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(numbers[i] > numbers[i - 1]);
}

int test_container(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_round_trips_through_a_store),
        cmocka_unit_test(test_container_round_trips_through_a_file),
        cmocka_unit_test(test_container_refuses_the_other_kind),
        cmocka_unit_test(test_container_section_numbers_are_unique),
    };
    return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
