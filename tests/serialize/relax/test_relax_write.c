#include "serialize/relax/relax_internal.h"
#include "tests/serialize/relax_example.h"

static void test_relax_write_gives_the_bytes_that_were_read(void **state) {
    (void)state;
    for (RelaxGeneration generation = 0; generation < RELAX_GENERATION_COUNT; generation++) {
        ByteWriter OWN_BYTES(first) = {0};
        ByteWriter OWN_BYTES(second) = {0};
        OWN(RelaxFile, file) = NULL;
        RelaxExample example;
        relax_example_init(&example, generation);
        example.constants[0].tensor.reserved = 77;
        assert_ok(relax_example_read(&example, &first, &file));
        assert_ok(relax_file_write(file, false, &second));
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
    }
}

/* An outline is the file without the bytes of its tensor, and cannot be written as a whole file. */
static void test_relax_write_leaves_tensors_out_of_outlines(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(whole) = {0};
    ByteWriter OWN_BYTES(outline) = {0};
    OWN(RelaxFile, file) = NULL;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_file_write(&example.file, false, &whole));
    assert_ok(relax_file_write(&example.file, true, &outline));
    assert_int_equal(outline.size, whole.size - sizeof example.data);
    assert_ok(relax_file_read(outline.data, outline.size, true, &file));
    assert_int_equal(file->constants[0].tensor.size, sizeof example.data);
    assert_null(file->constants[0].tensor.data);
    assert_fails(INTERNAL, relax_file_write(file, false, &whole));
}

int test_relax_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_write_gives_the_bytes_that_were_read),
        cmocka_unit_test(test_relax_write_leaves_tensors_out_of_outlines),
    };
    return cmocka_run_group_tests_name("relax_write", tests, NULL, NULL);
}
