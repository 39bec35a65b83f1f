#include "serialize/arrays/safetensors.h"
#include "serialize/arrays/safetensors_header.h"

#include <stdio.h>

#include "base/allocator.h"
#include "tests/serialize/array_fixtures.h"

static void write_file(const ArrayList *arrays, ByteWriter *out) {
    char folder[64], path[80];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/x.safetensors", folder);
    OWN(FileOutput, output) = NULL;
    assert_ok(file_output_create(path, &output));
    assert_ok(safetensors_write(arrays, output));
    assert_ok(file_output_commit(output));
    uint8_t *data = NULL;
    size_t size = 0;
    assert_ok(file_read(path, SIZE_MAX, &data, &size));
    byte_write_bytes(out, data, size);
    memory_unmap(data, size);
    test_folder_remove(folder);
}

static void remove_texts(ArrayList *arrays) {
    assert_int_equal(arrays->items[arrays->count - 1].dtype, DTYPE_STRING);
    named_array_deinit(&arrays->items[--arrays->count]);
}

static void test_safetensors_round_trips(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0}, OWN_ARRAYS(read) = {0};
    example_arrays(&arrays);
    remove_texts(&arrays);
    ByteWriter OWN_BYTES(file) = {0};
    write_file(&arrays, &file);
    assert_int_equal(file.data[0] % 8, 0); /* the data are aligned */
    assert_ok(safetensors_read(file.data, file.size, &read));
    assert_int_equal(read.count, arrays.count);
    for (size_t i = 0; i < arrays.count; i++)
        assert_array_equal(&arrays.items[i], array_list_find(&read, arrays.items[i].name));
}

/* What the reference implementation writes: by width, then by name; offsets without gaps. */
static void test_safetensors_file_is_as_the_reference_writes_it(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    const Shape shape = {1, {2}};
    NamedArray array = {0};
    static const struct {
        const char *name;
        DType dtype;
    } rows[] = {{"b\"", DTYPE_UINT8}, {"z", DTYPE_FLOAT32}, {"a", DTYPE_FLOAT32}};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(named_array_init(&array, rows[i].name, rows[i].dtype, &shape));
        assert_ok(array_list_add(&arrays, &array));
    }
    ByteWriter OWN_BYTES(file) = {0};
    write_file(&arrays, &file);
    static const char header[] =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"z\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
        "\"b\\\"\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[16,18]}}";
    assert_memory_equal(file.data + 8, header, sizeof header - 1);
    assert_int_equal(file.size, 8 + (sizeof header - 1 + 7) / 8 * 8 + 18);
}

static void test_safetensors_names_all_its_types(void **state) {
    (void)state;
    for (int i = 1; i < DTYPE_COUNT; i++) {
        const char *name = safetensors_header_dtype_name((DType)i);
        if (name) assert_int_equal(safetensors_header_find_dtype(name), i);
    }
    assert_null(safetensors_header_dtype_name(DTYPE_STRING));
    ArrayList OWN_ARRAYS(arrays) = {0};
    example_arrays(&arrays); /* with a string array */
    OWN(FileOutput, output) = NULL;
    char folder[64], path[80];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/x.safetensors", folder);
    assert_ok(file_output_create(path, &output));
    assert_fails_saying(INVALID, "no element type string", safetensors_write(&arrays, output));
    file_output_release(TAKE(output));
    test_folder_remove(folder);
}

static void file_fails(const char *why, const char *header, size_t data_size) {
    ByteWriter OWN_BYTES(file) = {0};
    byte_write_u64(&file, strlen(header));
    byte_write_bytes(&file, header, strlen(header));
    for (size_t i = 0; i < data_size; i++) byte_write_u8(&file, 2);
    ArrayList OWN_ARRAYS(read) = {0};
    Error *error = safetensors_read(file.data, file.size, &read);
    test_assert_fails(error, error_code(error) == ERROR_INVALID ? ERROR_INVALID : ERROR_CORRUPT,
        why, header, __FILE__, __LINE__);
}

static void test_safetensors_refuses_gaps_overlaps_and_doubles(void **state) {
    (void)state;
#define ENTRY(name, dtype, begin, end)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"
    file_fails("does not begin", "{" ENTRY("a", "U8", 1, 3) "}", 3);
    file_fails("does not begin", "{" ENTRY("a", "U8", 0, 2) "," ENTRY("b", "U8", 1, 3) "}", 3);
    file_fails("does not begin", "{" ENTRY("a", "U8", 0, 2) "," ENTRY("b", "U8", 3, 5) "}", 5);
    file_fails("does not begin", "{" ENTRY("a", "U8", 0, 2) "," ENTRY("b", "U8", 0, 2) "}", 2);
    file_fails("2 bytes of arrays in a file that has 3", "{" ENTRY("a", "U8", 0, 2) "}", 3);
    file_fails("2 bytes of arrays in a file that has 1", "{" ENTRY("a", "U8", 0, 2) "}", 1);
    file_fails(
        "two arrays are named a", "{" ENTRY("a", "U8", 0, 2) "," ENTRY("a", "U8", 2, 4) "}", 4);
    file_fails("neither 0 nor 1", "{" ENTRY("a", "BOOL", 0, 2) "}", 2);
    file_fails("array a: its offsets", "{" ENTRY("a", "F32", 0, 2) "}", 2);
#undef ENTRY
    ArrayList OWN_ARRAYS(read) = {0};
    /* 43 bytes that claim 2^63 elements, and headers longer than the file */
    static const char huge[] = "\x23\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"U8\",\"shape\":[922337203";
    assert_fails(CORRUPT, safetensors_read(huge, sizeof huge - 1, &read));
    assert_fails_saying(
        CORRUPT, "a header of", safetensors_read("\xff\xff\xff\xff\xff\xff\xff\xff{", 9, &read));
    assert_fails(CORRUPT, safetensors_read("\0\0\0\0\0\0\0\0", 8, &read));
    assert_fails(CORRUPT, safetensors_read("", 0, &read));
}

static void test_safetensors_survives_every_flip_and_truncation(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(arrays) = {0};
    example_arrays(&arrays);
    remove_texts(&arrays);
    ByteWriter OWN_BYTES(file) = {0};
    write_file(&arrays, &file);
    for (size_t i = 0; i < file.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            ArrayList OWN_ARRAYS(read) = {0};
            file.data[i] ^= (uint8_t)(1 << bit);
            error_free(safetensors_read(file.data, file.size, &read)); /* either is right */
            file.data[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t size = 0; size < file.size; size++) {
        ArrayList OWN_ARRAYS(read) = {0};
        assert_fails(CORRUPT, safetensors_read(file.data, size, &read));
    }
}

int test_safetensors(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_round_trips),
        cmocka_unit_test(test_safetensors_file_is_as_the_reference_writes_it),
        cmocka_unit_test(test_safetensors_names_all_its_types),
        cmocka_unit_test(test_safetensors_refuses_gaps_overlaps_and_doubles),
        cmocka_unit_test(test_safetensors_survives_every_flip_and_truncation),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
