#include "serialize/arrays/npy.h"

#include "base/allocator.h"
#include "tests/serialize/serialize_fixtures.h"

static void write_npy(const NamedArray *array, ByteWriter *out) {
    assert_ok(npy_write_header(array, out));
    assert_int_equal(out->size % 64, 0);
    if (npy_is_written_as_is(array))
        byte_write_bytes(out, array->data, array->size);
    else
        assert_ok(npy_write_elements(array, out));
    assert_ok(byte_writer_check(out));
}

/* A file with this header text (version 1) and these elements. */
static void make_npy(const char *header, const void *elements, size_t size, ByteWriter *out) {
    byte_write_bytes(out, "\x93NUMPY\x01\x00", 8);
    byte_write_u16(out, (uint16_t)strlen(header));
    byte_write_bytes(out, header, strlen(header));
    byte_write_bytes(out, elements, size);
}

static void test_npy_round_trips_every_numpy_type_and_rank(void **state) {
    (void)state;
    uint64_t seed = 41;
    const int64_t dims[] = {2, 3, 1, 2, 1, 1, 2, 1};
    for (int d = 1; d < DTYPE_COUNT; d++) {
        if (!dtype_is_known((uint32_t)d) || !dtype_numpy((DType)d)) continue;
        for (uint32_t rank = 0; rank <= SHAPE_RANK_MAX; rank++)
            for (int zero = 0; zero < (rank ? 2 : 1); zero++) {
                Shape shape = shape_make(rank, dims);
                if (zero) shape.dims[rank - 1] = 0;
                NamedArray array = {0}, back = {0};
                assert_ok(named_array_init(&array, "x", (DType)d, &shape));
                for (uint64_t i = 0; i < array.size; i++)
                    array.data[i] = (uint8_t)(test_random(&seed) & (d == DTYPE_BOOL ? 1u : 255u));
                ByteWriter OWN_BYTES(file) = {0};
                write_npy(&array, &file);
                assert_ok(npy_read(file.data, file.size, "y", &back));
                assert_string_equal(back.name, "y");
                assert_int_equal(back.dtype, d);
                assert_true(shape_equal(&back.shape, &shape));
                assert_int_equal(back.size, array.size);
                if (back.size) assert_memory_equal(back.data, array.data, back.size);
                named_array_deinit(&array);
                named_array_deinit(&back);
            }
    }
}

static void test_npy_round_trips_strings(void **state) {
    (void)state;
    const char *texts[] = {"", "a", "üñ€", "\xf0\x9f\x98\x80 smile", "\xf4\x8f\xbf\xbf", "zz"};
    const int64_t dims[] = {3, 2};
    Shape shape = shape_make(2, dims);
    NamedArray array = {0}, back = {0};
    assert_ok(named_array_init_texts(&array, "t", &shape, texts));
    ByteWriter OWN_BYTES(file) = {0};
    write_npy(&array, &file);
    assert_ok(npy_read(file.data, file.size, "t", &back));
    assert_int_equal(back.dtype, DTYPE_STRING);
    for (int i = 0; i < 6; i++) assert_string_equal(back.texts[i], texts[i]);
    named_array_deinit(&array);
    named_array_deinit(&back);
}

/* Types that numpy lacks stand as raw unsigned integers. */
static void test_npy_writes_other_types_raw(void **state) {
    (void)state;
    const int64_t count = 3;
    Shape shape = shape_make(1, &count);
    static const struct {
        DType dtype, raw;
        uint8_t bytes[6];
    } rows[] = {
        {DTYPE_BFLOAT16, DTYPE_UINT16, {1, 2, 3, 4, 5, 6}},
        {DTYPE_FLOAT8E5M2, DTYPE_UINT8, {1, 2, 3}},
        {DTYPE_INT4, DTYPE_UINT8, {0x21, 0x03}},
    };
    for (size_t i = 0; i < 3; i++) {
        NamedArray array = {0}, back = {0};
        assert_ok(named_array_init(&array, "x", rows[i].dtype, &shape));
        memcpy(array.data, rows[i].bytes, array.size);
        ByteWriter OWN_BYTES(file) = {0};
        write_npy(&array, &file);
        assert_ok(npy_read(file.data, file.size, "x", &back));
        assert_int_equal(back.dtype, rows[i].raw);
        assert_memory_equal(back.data, ((uint8_t[]){1, 2, 3, 4, 5, 6}), back.size);
        named_array_deinit(&array);
        named_array_deinit(&back);
    }
}

static void test_npy_header_is_as_numpy_writes_it(void **state) {
    (void)state;
    const int64_t count = 3;
    Shape shape = shape_make(1, &count);
    NamedArray array = {0};
    assert_ok(named_array_init(&array, "x", DTYPE_FLOAT32, &shape));
    ByteWriter OWN_BYTES(file) = {0};
    assert_ok(npy_write_header(&array, &file));
    static const char expected[] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': "
                                   "False, 'shape': (3,), }";
    assert_int_equal(file.size, 128);
    assert_memory_equal(file.data, expected, sizeof expected - 1);
    for (size_t i = sizeof expected - 1; i < 127; i++) assert_int_equal(file.data[i], ' ');
    assert_int_equal(file.data[127], '\n');
    named_array_deinit(&array);
}

static void test_npy_swaps_and_transposes(void **state) {
    (void)state;
    /* columns of [[1, 2, 3], [4, 5, 6]], most significant byte first */
    static const uint8_t elements[] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
    ByteWriter OWN_BYTES(file) = {0};
    make_npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}", elements, sizeof elements,
        &file);
    NamedArray array = {0};
    assert_ok(npy_read(file.data, file.size, "x", &array));
    assert_int_equal(array.dtype, DTYPE_INT16);
    assert_memory_equal(array.data, ((int16_t[]){1, 2, 3, 4, 5, 6}), 12);
    named_array_deinit(&array);
}

static void npy_fails(
    ErrorCode code, const char *why, const char *header, const void *elements, size_t size) {
    ByteWriter OWN_BYTES(file) = {0};
    make_npy(header, elements, size, &file);
    NamedArray array = {0};
    test_assert_fails(
        npy_read(file.data, file.size, "x", &array), code, why, header, __FILE__, __LINE__);
    assert_null(array.name);
}

static void test_npy_refuses_wrong_elements(void **state) {
    (void)state;
#define HEADER(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape "}"
    npy_fails(ERROR_CORRUPT, "do not make", HEADER("<f4", "(2,)"), "12345678", 7);
    npy_fails(ERROR_CORRUPT, "do not make", HEADER("<f4", "(2,)"), "123456789", 9);
    npy_fails(ERROR_CORRUPT, "do not make", HEADER("<f4", "(1000000, 1000000)"), "1234", 4);
    npy_fails(
        ERROR_CORRUPT, "do not make", HEADER("<U60000000", "(2000000000, 2000000000)"), "1234", 4);
    npy_fails(ERROR_INVALID, "neither 0 nor 1", HEADER("|b1", "(4,)"), "\0\1\2\0", 4);
    npy_fails(ERROR_INVALID, "element 1: a string", HEADER("|S2", "(2,)"), "ab\xff\xff", 4);
    npy_fails(ERROR_INVALID, "element 0: a string", HEADER("|S3", "(1,)"), "a\0b", 3);
    npy_fails(ERROR_INVALID, "code point 0xd800", HEADER("<U1", "(1,)"), "\0\xd8\0\0", 4);
    npy_fails(ERROR_INVALID, "code point 0x110000", HEADER("<U1", "(1,)"), "\0\0\x11\0", 4);
    npy_fails(ERROR_INVALID, "code point 0", HEADER("<U2", "(1,)"), "\0\0\0\0a\0\0\0", 8);
#undef HEADER
}

static void test_npy_survives_flips_and_truncations(void **state) {
    (void)state;
    static const char *headers[] = {
        "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n",
        "{'descr': '<U1', 'fortran_order': False, 'shape': (3,), }\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (12,), }\n",
    };
    for (size_t h = 0; h < 3; h++) {
        ByteWriter OWN_BYTES(file) = {0};
        make_npy(headers[h], (uint8_t[12]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 12, &file);
        NamedArray array = {0};
        for (size_t size = 0; size < file.size; size++)
            assert_fails(CORRUPT, npy_read(file.data, size, "x", &array));
        for (size_t i = 0; i < file.size; i++)
            for (int byte = 0; byte < 256; byte++) {
                uint8_t saved = file.data[i];
                file.data[i] = (uint8_t)byte;
                NamedArray read = {0};
                error_free(npy_read(file.data, file.size, "x", &read)); /* either is right */
                named_array_deinit(&read);
                file.data[i] = saved;
            }
    }
    NamedArray array = {0};
    assert_fails_saying(CORRUPT, "not a npy file", npy_read("hello\n", 6, "x", &array));
    assert_fails_saying(
        UNSUPPORTED, "npy version 4.0", npy_read("\x93NUMPY\x04\x00\x00\x00", 10, "x", &array));
}

int test_npy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_round_trips_every_numpy_type_and_rank),
        cmocka_unit_test(test_npy_round_trips_strings),
        cmocka_unit_test(test_npy_writes_other_types_raw),
        cmocka_unit_test(test_npy_header_is_as_numpy_writes_it),
        cmocka_unit_test(test_npy_swaps_and_transposes),
        cmocka_unit_test(test_npy_refuses_wrong_elements),
        cmocka_unit_test(test_npy_survives_flips_and_truncations),
    };
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
