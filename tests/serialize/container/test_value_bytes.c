#include "serialize/container/value_bytes.h"

#include "tests/support/test_support.h"

static void test_value_bytes_shapes_round_trip(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(writer) = {0};
    const int64_t dims[3] = {0, -1, INT64_MAX};
    Shape shape = shape_make(3, dims), read;
    value_bytes_write_shape(&writer, &shape);
    ByteReader reader = byte_reader(writer.data, writer.size);
    assert_ok(value_bytes_read_shape(&reader, -1, &read));
    assert_true(shape_equal(&shape, &read));
    assert_ok(byte_reader_check_end(&reader));
    reader = byte_reader(writer.data, writer.size);
    assert_fails_saying(CORRUPT, "-1", value_bytes_read_shape(&reader, 0, &read));
    for (size_t size = 0; size < writer.size; size++) {
        reader = byte_reader(writer.data, size);
        assert_fails(CORRUPT, value_bytes_read_shape(&reader, -1, &read));
    }
    writer.data[0] = SHAPE_RANK_MAX + 1;
    reader = byte_reader(writer.data, writer.size);
    assert_fails_saying(CORRUPT, "rank 9", value_bytes_read_shape(&reader, -1, &read));
}

static void test_value_bytes_rejects_unknown_types_and_truths(void **state) {
    (void)state;
    const uint8_t bytes[] = {0, 200, 2};
    DType dtype = DTYPE_FLOAT32;
    bool truth;
    ByteReader reader = byte_reader(bytes, sizeof bytes);
    assert_ok(value_bytes_read_dtype(&reader, true, &dtype));
    assert_int_equal(dtype, DTYPE_NONE);
    assert_fails(CORRUPT, value_bytes_read_dtype(&reader, true, &dtype));
    assert_fails_saying(CORRUPT, "2", value_bytes_read_bool(&reader, &truth));
    reader = byte_reader(bytes, sizeof bytes);
    assert_fails(CORRUPT, value_bytes_read_dtype(&reader, false, &dtype));
}

static void test_value_bytes_filters_follow_the_element_size(void **state) {
    (void)state;
    assert_int_equal(value_bytes_filter(DTYPE_FLOAT32), CHUNK_FILTER_FLOAT32);
    assert_int_equal(value_bytes_filter(DTYPE_BFLOAT16), CHUNK_FILTER_BFLOAT16);
    assert_int_equal(value_bytes_filter(DTYPE_FLOAT16), CHUNK_FILTER_FLOAT16);
    assert_int_equal(value_bytes_filter(DTYPE_UINT16), CHUNK_FILTER_WORD16);
    assert_int_equal(value_bytes_filter(DTYPE_INT32), CHUNK_FILTER_WORD32);
    assert_int_equal(value_bytes_filter(DTYPE_FLOAT64), CHUNK_FILTER_WORD64);
    assert_int_equal(value_bytes_filter(DTYPE_BOOL), CHUNK_FILTER_BYTES);
}

int test_value_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_bytes_shapes_round_trip),
        cmocka_unit_test(test_value_bytes_rejects_unknown_types_and_truths),
        cmocka_unit_test(test_value_bytes_filters_follow_the_element_size),
    };
    return cmocka_run_group_tests_name("value_bytes", tests, NULL, NULL);
}
