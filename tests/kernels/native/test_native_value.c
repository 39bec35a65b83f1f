#include "kernels/native/native_value.h"

#include "tests/support/test_support.h"

static NativeValue read_back(const NativeValue *value, ByteWriter *bytes) {
    NativeValue out;
    native_value_write(bytes, value);
    assert_ok(byte_writer_check(bytes));
    ByteReader reader = byte_reader(bytes->data, bytes->size);
    assert_ok(native_value_read(&reader, &out));
    assert_ok(byte_reader_check_end(&reader));
    assert_int_equal(out.kind, value->kind);
    return out;
}

static void test_native_values_are_read_as_written(void **state) {
    (void)state;
    const int64_t dims[] = {2, 3};
    const int64_t many[] = {-1, 2, 3, 4, 5, 6, 7, 8, 9, INT64_MIN};
    ByteWriter OWN_BYTES(a) = {0}, OWN_BYTES(b) = {0}, OWN_BYTES(c) = {0}, OWN_BYTES(d) = {0};
    ByteWriter OWN_BYTES(e) = {0};
    NativeValue value = {.kind = NATIVE_INT, .integer = INT64_MIN};
    assert_true(read_back(&value, &a).integer == INT64_MIN);
    value = (NativeValue){.kind = NATIVE_FLOAT, .real = -0.5};
    assert_true(read_back(&value, &b).real == -0.5);
    value.kind = NATIVE_STRING;
    value.string.data = "text";
    value.string.size = 4;
    NativeValue text = read_back(&value, &c);
    assert_string_equal(text.string.data, "text");
    assert_int_equal(text.string.size, 4);
    value = (NativeValue){.kind = NATIVE_TENSOR,
        .tensor = {.dtype = DTYPE_FLOAT16, .shape = shape_make(2, dims), .place = 640}};
    NativeValue tensor = read_back(&value, &d);
    assert_int_equal(tensor.tensor.dtype, DTYPE_FLOAT16);
    assert_true(shape_equal(&tensor.tensor.shape, &value.tensor.shape));
    assert_int_equal(tensor.tensor.place, 640);
    assert_int_equal(native_tensor_bytes(&tensor.tensor), 12);
    value = (NativeValue){.kind = NATIVE_SHAPE, .shape = {many, 10}};
    NativeValue shape = read_back(&value, &e);
    assert_int_equal(shape.shape.count, 10);
    assert_memory_equal(shape.shape.dims, many, sizeof many);
}

static void refuse(const char *text, const uint8_t *bytes, size_t size) {
    NativeValue value;
    ByteReader reader = byte_reader(bytes, size);
    assert_fails_saying(CORRUPT, text, native_value_read(&reader, &value));
}

static void test_native_values_from_outside_are_checked(void **state) {
    (void)state;
    refuse("kind 99", (const uint8_t[]){99}, 1);
    refuse("ends early", (const uint8_t[]){NATIVE_INT, 1, 2}, 3);
    refuse("element type 99", (const uint8_t[]){NATIVE_DTYPE, 99}, 2);
    refuse("string is not passed", (const uint8_t[]){NATIVE_TENSOR, DTYPE_STRING}, 2);
    refuse("without its end", (const uint8_t[]){NATIVE_STRING, 1, 0, 0, 0, 'a', 'b'}, 7);
    uint8_t shape[2 + 4 + 8 * 9] = {NATIVE_TENSOR, DTYPE_FLOAT32, 9};
    refuse("a tensor of 9 dimensions; 8 are the most", shape, sizeof shape);
    uint8_t negative[2 + 4 + 8] = {NATIVE_TENSOR, DTYPE_FLOAT32, 1};
    memset(negative + 6, 0xFF, 8);
    refuse("dimension 0 is -1", negative, sizeof negative);
    static const uint8_t many[1 + 4 + 8 * 256] = {NATIVE_SHAPE, 0, 1};
    refuse("a shape of 256 numbers; 255 are the most", many, sizeof many);
    refuse("", many, sizeof many - 1);
}

static void test_fields_belong_to_their_tuples(void **state) {
    (void)state;
    const NativeValue pair = {.kind = NATIVE_TUPLE, .field_count = 2}, leaf = {.kind = NATIVE_INT};
    const NativeValue nested[] = {pair, pair, leaf, leaf, leaf};
    assert_ok(native_values_check(nested, 5, 1));
    assert_ok(native_values_check(nested + 1, 4, 2));
    assert_ok(native_values_check(NULL, 0, 0));
    assert_fails_saying(CORRUPT, "4 values are too few", native_values_check(nested, 4, 1));
    assert_fails_saying(
        CORRUPT, "4 values, of which 1 belong to none", native_values_check(nested + 1, 4, 1));
}

int test_native_value(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_values_are_read_as_written),
        cmocka_unit_test(test_native_values_from_outside_are_checked),
        cmocka_unit_test(test_fields_belong_to_their_tuples),
    };
    return cmocka_run_group_tests_name("native_value", tests, NULL, NULL);
}
