#include <stdio.h>

#include "serialize/arrays/npz.h"
#include "tests/serialize/array_fixtures.h"

static void test_npz_round_trips_with_and_without_zip64(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    example_arrays(&arrays);
    static const uint64_t zip64_from[] = {0, 1, 200, 600};
    for (size_t i = 0; i < 4; i++) {
        ByteWriter OWN_BYTES(file) = {0};
        ArrayList OWN_ARRAYS(read) = {0};
        example_npz(&arrays, zip64_from[i], &file);
        assert_ok(npz_read(file.data, file.size, 1 << 20, &read));
        assert_arrays_equal(&arrays, &read);
    }
}

/* Their checksums are added up while they are written. */
static void test_npz_round_trips_large_arrays_among_small_ones(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    static const char *const names[] = {"large", "small", "larger"};
    static const Shape shapes[] = {{2, {600, 901}}, {1, {3}}, {1, {1 << 20}}};
    for (size_t i = 0; i < 3; i++) {
        NamedArray array = {0};
        assert_ok(named_array_init(&array, names[i], DTYPE_FLOAT32, &shapes[i]));
        for (uint64_t at = 0; at < array.size; at++) array.data[at] = (uint8_t)(at * 31 >> i);
        assert_ok(array_list_add(&arrays, &array));
    }
    for (uint64_t zip64_from = 0; zip64_from < 2; zip64_from++) {
        ByteWriter OWN_BYTES(file) = {0};
        ArrayList OWN_ARRAYS(read) = {0};
        example_npz(&arrays, zip64_from, &file);
        assert_ok(npz_read(file.data, file.size, 1 << 24, &read));
        assert_arrays_equal(&arrays, &read);
    }
}

static void test_npz_files_of_equal_arrays_are_equal(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    example_arrays(&arrays);
    ByteWriter OWN_BYTES(one) = {0}, OWN_BYTES(two) = {0};
    example_npz(&arrays, 0, &one);
    example_npz(&arrays, 0, &two);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.data, two.data, one.size);
}

static Error *write_twice(const char *name, const char *dtype_name, DType dtype) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    char folder[64], path[80];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/x.npz", folder);
    assert_ok(file_output_create(path, &output));
    assert_ok(npz_writer_create(output, &writer));
    NamedArray one = {0}, two = {0};
    const Shape scalar = {0};
    assert_ok(named_array_init(&one, name, dtype, &scalar));
    assert_ok(named_array_init(&two, dtype_name, DTYPE_FLOAT32, &scalar));
    assert_ok(npz_writer_add(writer, &one));
    Error *error = npz_writer_add(writer, &two);
    named_array_deinit(&one);
    named_array_deinit(&two);
    file_output_release(TAKE(output));
    test_folder_remove(folder);
    return error;
}

static void test_npz_refuses_a_name_twice(void **state) {
    (void)state;
    assert_fails_saying(INVALID, "two arrays are named x", write_twice("x", "x", DTYPE_FLOAT32));
    assert_fails_saying(
        INVALID, "two arrays are named x.dtype", write_twice("x", "x.dtype", DTYPE_BFLOAT16));
}

int test_npz_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_round_trips_with_and_without_zip64),
        cmocka_unit_test(test_npz_round_trips_large_arrays_among_small_ones),
        cmocka_unit_test(test_npz_files_of_equal_arrays_are_equal),
        cmocka_unit_test(test_npz_refuses_a_name_twice),
    };
    return cmocka_run_group_tests_name("npz_write", tests, NULL, NULL);
}
