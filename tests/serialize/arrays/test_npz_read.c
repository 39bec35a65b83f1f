#include <stdio.h>

#include "base/allocator.h"
#include "serialize/arrays/npz.h"
#include "tests/serialize/array_fixtures.h"

static const uint64_t plenty = 1 << 30;

static void check_numpy_file(const char *name) {
    size_t size = 0;
    uint8_t *data = golden_file(name, &size);
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(npz_read(data, size, plenty, &arrays));
    memory_unmap(data, size);
    assert_int_equal(arrays.count, 11 * 4 + 10);
    size_t variants = 0;
    static const char *const prefixes[] = {"big_", "fortran_", "big_fortran_"};
    for (size_t i = 0; i < arrays.count; i++) /* every variant holds what the plain one holds */
        for (size_t p = 0; p < 3; p++) {
            char variant[80];
            (void)snprintf(variant, sizeof variant, "%s%s", prefixes[p], arrays.items[i].name);
            const NamedArray *other = array_list_find(&arrays, variant);
            if (!other) continue;
            assert_array_equal(&arrays.items[i], other);
            variants++;
        }
    assert_int_equal(variants, 11 * 3 + 2 + 11); /* a big_fortran_ is fortran_'s big_, too */
    const float scalar = 3.5f;
    assert_memory_equal(array_list_find(&arrays, "scalar")->data, &scalar, 4);
    assert_int_equal(array_list_find(&arrays, "zero")->size, 0);
    const NamedArray *text = array_list_find(&arrays, "text");
    assert_string_equal(text->texts[1], "üñ€😀");
    assert_string_equal(text->texts[2], "");
    assert_string_equal(text->texts[3], "xyz");
    assert_string_equal(array_list_find(&arrays, "bytes")->texts[1], "cé");
    assert_int_equal(array_list_find(&arrays, "näme/with slash")->dtype, DTYPE_INT64);
    assert_int_equal(array_list_find(&arrays, "bf")->dtype, DTYPE_BFLOAT16);
    assert_int_equal(array_list_find(&arrays, "n4")->dtype, DTYPE_UINT4);
}

static void test_npz_reads_what_numpy_wrote(void **state) {
    (void)state;
    check_numpy_file("numpy_stored.npz");
    check_numpy_file("numpy_deflated.npz");
}

static void test_npz_keeps_to_its_limit(void **state) {
    (void)state;
    size_t size = 0;
    uint8_t *data = golden_file("numpy_deflated.npz", &size);
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_fails_saying(INVALID, "more than 5000 bytes", npz_read(data, size, 5000, &arrays));
    assert_int_equal(arrays.count, 0);
    memory_unmap(data, size);
}

/* Stored members carry a CRC, so a flip is refused wherever it matters; it may pass in fields that
 * nobody reads (dates, versions, attributes), and then the arrays are the same. */
static void test_npz_survives_every_flip_and_truncation(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    example_arrays(&arrays);
    for (uint64_t zip64_from = 0; zip64_from < 2; zip64_from++) {
        ByteWriter OWN_BYTES(file) = {0};
        example_npz(&arrays, zip64_from, &file);
        size_t passed = 0;
        for (size_t i = 0; i < file.size; i++) {
            ArrayList OWN_ARRAYS(read) = {0};
            file.data[i] ^= 0x20;
            Error *error = npz_read(file.data, file.size, plenty, &read);
            passed += !error;
            if (!error) {
                assert_int_equal(read.count, arrays.count);
                for (size_t a = 0; a < read.count; a++)
                    assert_array_equal(&read.items[a], &arrays.items[a]);
            }
            error_free(error); /* either is right */
            file.data[i] ^= 0x20;
        }
        assert_true(passed < file.size / 4);
        for (size_t size = 0; size < file.size; size++) {
            ArrayList OWN_ARRAYS(read) = {0};
            Error *error = npz_read(file.data, size, plenty, &read);
            assert_int_equal(error_code(error), ERROR_CORRUPT);
            error_free(error);
        }
    }
}

/* Deflated data has no redundancy of its own: what unpacks is checked by size and CRC. */
static void test_npz_survives_damage_to_deflated_members(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    size_t size = 0;
    uint8_t *data = golden_file("numpy_deflated.npz", &size);
    for (size_t i = 0; i < size; i += 3) {
        ArrayList OWN_ARRAYS(read) = {0};
        data[i] ^= (uint8_t)(1 << i % 8);
        error_free(npz_read(data, size, plenty, &read)); /* either is right */
        data[i] ^= (uint8_t)(1 << i % 8);
    }
    memory_unmap(data, size);
}

static void test_npz_refuses_members_that_are_no_arrays(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0}, OWN_ARRAYS(read) = {0};
    example_arrays(&arrays);
    ByteWriter OWN_BYTES(file) = {0};
    example_npz(&arrays, 0, &file);
    for (size_t i = 0; i + 8 < file.size; i++) /* x.npy becomes x.txt in both headers */
        if (memcmp(file.data + i, "x.npy", 5) == 0) memcpy(file.data + i, "x.txt", 5);
    assert_fails_saying(
        INVALID, "member x.txt: not an array", npz_read(file.data, file.size, plenty, &read));
    for (size_t i = 0; i + 8 < file.size; i++)
        if (memcmp(file.data + i, "x.txt", 5) == 0) memcpy(file.data + i, ".npy\xc3", 5);
    assert_fails_saying(CORRUPT, "not UTF-8", npz_read(file.data, file.size, plenty, &read));
}

static void test_npz_of_nothing_is_empty(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0}, OWN_ARRAYS(read) = {0};
    ByteWriter OWN_BYTES(file) = {0};
    example_npz(&arrays, 0, &file);
    assert_int_equal(file.size, 22);
    assert_ok(npz_read(file.data, file.size, plenty, &read));
    assert_int_equal(read.count, 0);
}

int test_npz_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_reads_what_numpy_wrote),
        cmocka_unit_test(test_npz_keeps_to_its_limit),
        cmocka_unit_test(test_npz_survives_every_flip_and_truncation),
        cmocka_unit_test(test_npz_survives_damage_to_deflated_members),
        cmocka_unit_test(test_npz_refuses_members_that_are_no_arrays),
        cmocka_unit_test(test_npz_of_nothing_is_empty),
    };
    return cmocka_run_group_tests_name("npz_read", tests, NULL, NULL);
}
