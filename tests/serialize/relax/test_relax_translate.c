#include "serialize/relax/relax_translate.h"

#include "kernels/tensor/tensor.h"
#include "serialize/container/executable_file.h"
#include "tests/serialize/relax_example.h"
#include "tests/serialize/serialize_fixtures.h"

static void test_relax_translate_keeps_functions_and_names(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    RelaxExample example;
    uint32_t index;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_translate(&example.file, NULL, &executable));
    assert_int_equal(executable->function_count, EXAMPLE_FUNCTIONS + 1);
    assert_ok(executable_find_function(executable, "main", &index));
    assert_int_equal(index, EXAMPLE_MAIN);
    const Function *function = &executable->functions[EXAMPLE_MAIN];
    assert_int_equal(function->flags, FUNCTION_NULLS | FUNCTION_EXPORTED);
    assert_string_equal(function->parameters[1].name, "b");
    assert_int_equal(function->parameters[1].dtype, DTYPE_NONE);
    assert_string_equal(executable->functions[EXAMPLE_HELPER].parameters[0].name, "0");
    assert_int_equal(executable->functions[EXAMPLE_ADD].kind, FUNCTION_PACKED);
    assert_int_equal(executable->functions[EXAMPLE_NATIVE].kind, FUNCTION_BYTECODE);
    assert_int_equal(executable->functions[EXAMPLE_NATIVE].parameter_count, 1);
    assert_string_equal(executable->functions[EXAMPLE_FUNCTIONS].name, "__vmtir__native");
    assert_int_equal(executable->functions[EXAMPLE_FUNCTIONS].kind, FUNCTION_PACKED);
    assert_fails(NOT_FOUND, executable_find_function(executable, "fx.add", &index));
}

/* Parameters cannot be told apart by names that are the same. */
static void test_relax_translate_numbers_parameters_with_equal_names(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.parameter_names[1] = example.parameter_names[0];
    assert_ok(relax_translate(&example.file, NULL, &executable));
    assert_string_equal(executable->functions[EXAMPLE_MAIN].parameters[1].name, "1");
}

static void check_back(const Executable *executable, const ByteWriter *wanted) {
    ByteWriter OWN_BYTES(back) = {0};
    assert_ok(relax_translate_back(executable, &back));
    assert_int_equal(back.size, wanted->size);
    assert_memory_equal(back.data, wanted->data, back.size);
}

/* Directly, and out of a manifest: the tensors' bytes come from the constants. */
static void test_relax_translate_back_gives_the_bytes_of_the_file(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    OWN(Executable, again) = NULL;
    OWN(Container, container) = NULL;
    OWN(RelaxFile, file) = NULL;
    ByteWriter OWN_BYTES(bytes) = {0};
    ByteWriter OWN_BYTES(manifest) = {0};
    MemoryStore chunks = {0};
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_example_read(&example, &bytes, &file));
    assert_ok(relax_translate(file, NULL, &executable));
    check_back(executable, &bytes);
    assert_ok(executable_write(executable, NULL, memory_store_sink(&chunks), &manifest));
    assert_ok(container_open_manifest(CONTAINER_EXECUTABLE, manifest.data, manifest.size,
        memory_store_source(&chunks), &container));
    assert_ok(executable_read(container, NULL, CHUNK_VERIFY_SHA256, &again));
    assert_true(digest_equal(&executable->identity, &again->identity));
    check_back(again, &bytes);
    /* what is kept is not trusted */
    again->source[again->source_size - 1] ^= 0x40;
    ByteWriter OWN_BYTES(back) = {0};
    assert_fails(CORRUPT, relax_translate_back(again, &back));
    memory_store_deinit(&chunks);
}

static void test_relax_translate_back_refuses_other_executables(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    ByteWriter OWN_BYTES(back) = {0};
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_translate(&example.file, NULL, &executable));
    executable->source_size = 0;
    assert_fails(CORRUPT, relax_translate_back(executable, &back));
    executable->outline = true;
    assert_fails(INVALID, relax_translate_back(executable, &back));
}

int test_relax_translate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_translate_keeps_functions_and_names),
        cmocka_unit_test(test_relax_translate_numbers_parameters_with_equal_names),
        cmocka_unit_test(test_relax_translate_back_gives_the_bytes_of_the_file),
        cmocka_unit_test(test_relax_translate_back_refuses_other_executables),
    };
    return cmocka_run_group_tests_name("relax_translate", tests, NULL, NULL);
}
