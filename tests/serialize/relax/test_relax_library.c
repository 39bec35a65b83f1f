#include "serialize/relax/relax_library.h"

#include "tests/serialize/elf_example.h"
#include "tests/support/test_support.h"

static void write_text(ByteWriter *writer, const char *text) {
    byte_write_u64(writer, strlen(text));
    byte_write_bytes(writer, text, strlen(text));
}

/* The modules of an exported library: the executable and the library itself. */
static void write_modules(ByteWriter *writer, bool older, const char *kind, const char *payload) {
    ByteWriter OWN_BYTES(content) = {0};
    if (older) {
        byte_write_u64(&content, 3);
    } else {
        const uint64_t words[] = {3, 0, 1, 1, 1, 1}; /* rows [0, 1, 1], children [1] */
        for (size_t i = 0; i < 6; i++) byte_write_u64(&content, words[i]);
    }
    if (!older) write_text(&content, "_lib");
    write_text(&content, kind);
    write_text(&content, payload);
    if (older) write_text(&content, "_lib");
    byte_write_u64(writer, content.size);
    byte_write_bytes(writer, content.data, content.size);
}

static void test_relax_library_unpacks_both_forms(void **state) {
    (void)state;
    const uint8_t *data;
    size_t size;
    ByteWriter OWN_BYTES(newer) = {0};
    ByteWriter OWN_BYTES(older) = {0};
    write_modules(&newer, false, "relax.VMExecutable", "bytes");
    assert_ok(relax_library_unpack(newer.data, newer.size, false, &data, &size));
    assert_int_equal(size, 5);
    assert_memory_equal(data, "bytes", 5);
    /* the length before the content belongs to the file of that age */
    write_modules(&older, true, "relax.Executable", "bytes");
    assert_ok(relax_library_unpack(older.data, older.size, true, &data, &size));
    assert_int_equal(size, 13);
    assert_memory_equal(data, "\5\0\0\0\0\0\0\0bytes", 13);
}

static void test_relax_library_refuses_other_modules_and_truncation(void **state) {
    (void)state;
    const uint8_t *data;
    size_t size;
    for (int older = 0; older < 2; older++) {
        ByteWriter OWN_BYTES(other) = {0};
        ByteWriter OWN_BYTES(good) = {0};
        write_modules(&other, older, "cuda", "bytes");
        assert_fails_saying(UNSUPPORTED, older ? "its modules are cuda" : "modules are _lib, cuda",
            relax_library_unpack(other.data, other.size, older, &data, &size));
        write_modules(&good, older, "relax.Executable", "bytes");
        for (size_t cut = 0; cut < good.size; cut++)
            assert_fails(CORRUPT, relax_library_unpack(good.data, cut, older, &data, &size));
    }
}

static void test_relax_library_finds_raw_files_and_libraries(void **state) {
    (void)state;
    ElfExample example;
    const uint8_t *data;
    size_t size;
    ByteWriter OWN_BYTES(blob) = {0};
    assert_ok(relax_library_find("raw", 3, false, &data, &size));
    assert_int_equal(size, 3);
    assert_fails_saying(CORRUPT, "no library", relax_library_find("raw", 3, true, &data, &size));
    write_modules(&blob, false, "relax.VMExecutable", "bytes");
    elf_example_init(&example, "__tvm_ffi__library_bin", blob.data, blob.size);
    assert_true(relax_library_probe(&example, sizeof example));
    assert_ok(relax_library_find(&example, sizeof example, false, &data, &size));
    assert_memory_equal(data, "bytes", 5);
}

static Error *find_graph(const ByteWriter *blob, size_t size, bool *out_found,
    const uint8_t **out_data, RelaxLibraryGraph *out, ElfExample *example) {
    elf_example_init(example, "__tvm_dev_mblob", blob->data, size);
    example->sections[1].sh_type = SHT_DYNSYM;
    *out_data = (const uint8_t *)example;
    return relax_library_find_graph(example, sizeof *example, out_found, out);
}

static void test_relax_library_finds_graphs_with_their_params(void **state) {
    (void)state;
    ElfExample example;
    RelaxLibraryGraph graph;
    const uint8_t *data;
    bool found;
    ByteWriter OWN_BYTES(blob) = {0};
    ByteWriter OWN_BYTES(other) = {0};
    write_modules(&blob, true, "GraphExecutorFactory", "{}");
    assert_ok(find_graph(&blob, blob.size, &found, &data, &graph, &example));
    assert_true(found);
    assert_int_equal(graph.json_size, 2);
    assert_memory_equal(graph.json, "{}", 2);
    assert_int_equal(graph.params_size, 8 + 4); /* here what follows: _lib */
    assert_int_equal(graph.blob_size, blob.size - 8);
    assert_memory_equal(data + graph.blob_begin, blob.data + 8, graph.blob_size);
    for (size_t size = 0; size < blob.size; size++)
        assert_fails(CORRUPT, find_graph(&blob, size, &found, &data, &graph, &example));
    write_modules(&other, true, "relax.Executable", "bytes");
    assert_ok(find_graph(&other, other.size, &found, &data, &graph, &example));
    assert_false(found);
    elf_example_init(&example, "another", "value", 5);
    assert_ok(relax_library_find_graph(&example, sizeof example, &found, &graph));
    assert_false(found);
}

int test_relax_library(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_library_unpacks_both_forms),
        cmocka_unit_test(test_relax_library_refuses_other_modules_and_truncation),
        cmocka_unit_test(test_relax_library_finds_raw_files_and_libraries),
        cmocka_unit_test(test_relax_library_finds_graphs_with_their_params),
    };
    return cmocka_run_group_tests_name("relax_library", tests, NULL, NULL);
}
