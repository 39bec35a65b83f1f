#include "serialize/container/executable_file.h"

#include <stdio.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/serialize/executable_fixtures.h"
#include "tests/serialize/section_mutation.h"
#include "vm/objects/value_equal.h"

typedef struct Stored {
    MemoryStore chunks;
    ByteWriter manifest;
    Container *container;
} Stored;

static void store_example(Stored *stored) {
    OWN(Executable, executable) = example_executable();
    *stored = (Stored){0};
    assert_ok(
        executable_write(executable, NULL, memory_store_sink(&stored->chunks), &stored->manifest));
    assert_ok(container_open_manifest(CONTAINER_EXECUTABLE, stored->manifest.data,
        stored->manifest.size, memory_store_source(&stored->chunks), &stored->container));
}

static void stored_deinit(Stored *stored) {
    container_release(stored->container);
    byte_writer_deinit(&stored->manifest);
    memory_store_deinit(&stored->chunks);
}

static void test_executable_read_gives_back_what_was_written(void **state) {
    (void)state;
    Stored stored;
    OWN(Executable, original) = example_executable();
    OWN(Executable, executable) = NULL;
    store_example(&stored);
    assert_ok(executable_read(stored.container, NULL, CHUNK_VERIFY_SHA256, &executable));
    assert_true(digest_equal(&executable->identity, &original->identity));
    assert_int_equal(executable->function_count, original->function_count);
    assert_int_equal(executable->code_word_count, original->code_word_count);
    assert_memory_equal(
        executable->code, original->code, original->code_word_count * sizeof(uint64_t));
    assert_int_equal(executable->constant_count, original->constant_count);
    for (uint32_t i = 0; i < original->constant_count; i++) {
        bool equal = false;
        assert_ok(
            value_equal(&executable->constants[i].value, &original->constants[i].value, &equal));
        assert_true(equal);
        assert_int_equal(executable->constants[i].slot, original->constants[i].slot);
    }
    const Port *port = &executable->functions[0].parameters[0];
    assert_string_equal(port->name, "x");
    assert_string_equal(port->symbols[0], "N");
    assert_int_equal(port->shape.dims[0], -1);
    stored_deinit(&stored);
}

/* What is accepted is verified code; whatever it is, it is released cleanly. */
static void read_mutated(const Container *mutated, void *context) {
    uint32_t *rejected = context;
    Executable *executable = NULL;
    Error *error = executable_read(mutated, NULL, CHUNK_VERIFY_XXH3, &executable);
    if (error) {
        assert_true(error_code(error) != ERROR_INTERNAL);
        assert_null(executable);
        (*rejected)++;
    }
    error_free(error);
    executable_release(executable);
}

static void test_executable_read_survives_damage_with_repaired_checksums(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static const SectionNumber sections[] = {
        SECTION_GLOBALS, SECTION_PRIMITIVES, SECTION_CODE, SECTION_CONSTANTS};
    Stored stored;
    uint32_t rejected = 0;
    store_example(&stored);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        section_mutate(stored.container, sections[i], memory_store_source(&stored.chunks),
            read_mutated, &rejected);
    assert_true(rejected > 500);
    stored_deinit(&stored);
}

/* A whole file: every truncation, every byte changed. */
static void test_executable_read_rejects_any_damaged_file(void **state) {
    (void)state;
    char folder[64], path[128], damaged_path[128];
    uint8_t *data;
    size_t size;
    OWN(Executable, executable) = example_executable();
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/e.lvx", folder);
    (void)snprintf(damaged_path, sizeof damaged_path, "%s/d.lvx", folder);
    assert_ok(executable_write_file(executable, NULL, path));
    assert_ok(file_read(path, 1 << 24, &data, &size));
    uint64_t random = 3;
    for (int i = 0; i < 200; i++) {
        size_t at = i < 100 ? (size_t)i : test_random(&random) % size;
        OWN(Executable, read) = NULL;
        data[at] ^= 0x10;
        assert_ok(file_write_atomic(damaged_path, data, size));
        Error *error = executable_read_file(damaged_path, NULL, &read);
        data[at] ^= 0x10;
        assert_non_null(error);
        assert_true(error_code(error) == ERROR_CORRUPT || error_code(error) == ERROR_UNSUPPORTED);
        error_free(error);
        OWN(Executable, cut) = NULL;
        assert_ok(file_write_atomic(damaged_path, data, at));
        error = executable_read_file(damaged_path, NULL, &cut);
        assert_non_null(error);
        error_free(error);
    }
    memory_unmap(data, size);
    test_folder_remove(folder);
}

/* Functions and ports without a chunk being read. */
static void test_executable_read_outline_reads_no_chunks(void **state) {
    (void)state;
    Stored stored;
    OWN(Executable, outline) = NULL;
    store_example(&stored);
    memory_store_get(&stored.chunks, 0)->data[20] ^= 1;
    assert_ok(executable_read_outline(stored.container, &outline));
    assert_true(digest_equal(&outline->identity, container_get_identity(stored.container)));
    uint32_t index;
    assert_ok(executable_find_function(outline, "main", &index));
    assert_true(executable_constant_bytes(outline) > EXAMPLE_LARGE_COUNT * sizeof(float));
    assert_true(outline->outline);
    assert_fails(INVALID, executable_identify(outline, NULL)); /* its bytes are not there */
    stored_deinit(&stored);
}

int test_executable_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executable_read_outline_reads_no_chunks),
        cmocka_unit_test(test_executable_read_gives_back_what_was_written),
        cmocka_unit_test(test_executable_read_survives_damage_with_repaired_checksums),
        cmocka_unit_test(test_executable_read_rejects_any_damaged_file),
    };
    return cmocka_run_group_tests_name("executable_read", tests, NULL, NULL);
}
