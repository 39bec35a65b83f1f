#include "compiler/frontend/base/onnx_tensor.h"

#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/tensor/string_tensor.h"
#include "tests/compiler/onnx_run.h"

static Error *read_tensor(OnnxTensor *owned_proto, Tensor **out) {
    Error *error = onnx_tensor_read(owned_proto, NULL, device_host(), out);
    onnx__tensor_proto__free_unpacked(owned_proto, NULL);
    return error;
}

#define refused(CODE, message, owned_proto)                                                        \
    do {                                                                                           \
        OWN(Tensor, unmade) = NULL;                                                                \
        assert_fails_saying(CODE, message, read_tensor(owned_proto, &unmade));                     \
        assert_null(unmade);                                                                       \
    } while (0)

static void *copy_of(const void *data, size_t size) {
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    return size ? memcpy(copy, data, size) : copy;
}

static OnnxTensor *with_raw(const char *type, const void *data, size_t size) {
    OnnxTensor *proto = onnx_tensor_make("t", type);
    proto->has_raw_data = 1;
    proto->raw_data.data = copy_of(data, size);
    proto->raw_data.len = size;
    return proto;
}

static void test_onnx_tensor_refuses_dimensions_that_no_tensor_has(void **state) {
    (void)state;
    refused(INVALID, "dimension 1 is -3", with_raw("float32[2,-3]", "", 0));
    refused(UNSUPPORTED, "rank 9", with_raw("float32[1,1,1,1,1,1,1,1,1]", "abcd", 4));
}

/* Products that wrap around to what the data has. */
static void test_onnx_tensor_refuses_products_that_overflow(void **state) {
    (void)state;
    refused(INVALID, "", with_raw("float32[4611686018427387904,4]", "", 0));
    refused(INVALID, "", with_raw("float32[9223372036854775807,9223372036854775807]", "abcd", 4));
    refused(INVALID, "", with_raw("float64[2305843009213693952]", "", 0));
    refused(INVALID, "", with_raw("int8[4294967296,4294967296,1]", "", 0));
    refused(INVALID, "", with_raw("uint8[9223372036854775807]", "a", 1));
}

/* A few bytes that ask for a lot of memory are compared with the data before any is taken. */
static void test_onnx_tensor_compares_data_with_dimensions(void **state) {
    (void)state;
    refused(INVALID, "8 bytes of data", with_raw("float32[3]", "abcdefgh", 8));
    refused(INVALID, "16 bytes of data", with_raw("float32[3]", "abcdefghabcdefgh", 16));
    refused(INVALID, "4 bytes of data", with_raw("float32[1000000000000]", "abcd", 4));
    refused(INVALID, "0 elements of data", onnx_tensor_make("t", "float32[1000000000000]"));
    refused(INVALID, "0 elements of data", onnx_tensor_make("t", "float32[]"));
    OnnxTensor *proto = onnx_tensor_make("t", "float32[3]");
    proto->n_float_data = 4;
    proto->float_data = copy_of((const float[]){1, 2, 3, 4}, 4 * sizeof(float));
    refused(INVALID, "4 elements of data", proto);
}

static void test_onnx_tensor_takes_empty_tensors(void **state) {
    (void)state;
    OWN(Tensor, tensor) = NULL;
    assert_ok(read_tensor(onnx_tensor_make("t", "float32[2,0,3]"), &tensor));
    assert_int_equal(tensor_bytes(tensor), 0);
}

static void test_onnx_tensor_refuses_element_types_it_has_not(void **state) {
    (void)state;
    static const int32_t numbers[] = {-1, 0, 14, 15, 29, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        OnnxTensor *proto = with_raw("float32[1]", "abcd", 4);
        proto->data_type = numbers[i];
        refused(UNSUPPORTED, "element type", proto);
    }
}

static void test_onnx_tensor_refuses_strings_and_segments(void **state) {
    (void)state;
    OnnxTensor *proto = with_raw("float32[1]", "abcd", 4);
    proto->data_type = DTYPE_STRING;
    refused(INVALID, "strings as raw or external data", proto);
    proto = with_raw("float32[1]", "abcd", 4);
    proto->segment = calloc(1, sizeof *proto->segment);
    onnx__tensor_proto__segment__init(proto->segment);
    refused(UNSUPPORTED, "segments", proto);
}

static OnnxTensor *with_strings(size_t count, const char *second) {
    OnnxTensor *proto = onnx_tensor_make("t", "float32[2]");
    proto->data_type = DTYPE_STRING;
    proto->n_string_data = count;
    proto->string_data = calloc(count, sizeof(ProtobufCBinaryData));
    for (size_t i = 0; i < count; i++) {
        const char *text = i ? second : "";
        proto->string_data[i].len = strlen(text);
        proto->string_data[i].data = (uint8_t *)onnx_text(text);
    }
    return proto;
}

static void test_onnx_tensor_reads_strings(void **state) {
    (void)state;
    OnnxTensor *proto = with_strings(2, "\xc3\xa4");
    Tensor *tensor;
    assert_ok(read_tensor(proto, &tensor));
    assert_int_equal(string_tensor_at(tensor_data(tensor), 2, 0).size, 0);
    StringView second = string_tensor_at(tensor_data(tensor), 2, 1);
    assert_int_equal(second.size, 2);
    assert_memory_equal(second.text, "\xc3\xa4", 2);
    tensor_release(tensor);
    refused(INVALID, "3 strings for a tensor of 2", with_strings(3, ""));
    refused(INVALID, "string 1 is not UTF-8", with_strings(2, "\xff"));
}

/* Two elements in the field where the schema puts them for that type. */
static OnnxTensor *with_typed(DType dtype) {
    OnnxTensor *proto = onnx_tensor_make("t", "float32[2]");
    proto->data_type = (int32_t)dtype;
    if (dtype == DTYPE_FLOAT32) {
        proto->n_float_data = 2;
        proto->float_data = copy_of((const float[]){1, 2}, 2 * sizeof(float));
    } else if (dtype == DTYPE_FLOAT64) {
        proto->n_double_data = 2;
        proto->double_data = copy_of((const double[]){1, 2}, 2 * sizeof(double));
    } else if (dtype == DTYPE_INT64) {
        proto->n_int64_data = 2;
        proto->int64_data = copy_of((const int64_t[]){1, 2}, 2 * sizeof(int64_t));
    } else if (dtype == DTYPE_UINT32 || dtype == DTYPE_UINT64) {
        proto->n_uint64_data = 2;
        proto->uint64_data = copy_of((const uint64_t[]){1, 2}, 2 * sizeof(uint64_t));
    } else {
        proto->n_int32_data = 2;
        proto->int32_data = copy_of((const int32_t[]){1, 2}, 2 * sizeof(int32_t));
    }
    return proto;
}

static void test_onnx_tensor_reads_every_types_own_field(void **state) {
    (void)state;
    for (uint32_t number = 1; number < DTYPE_COUNT; number++) {
        DType dtype = (DType)number;
        uint64_t one = 1, two = dtype == DTYPE_BOOL ? 1 : 2;
        if (!dtype_is_known(number) || dtype_bits(dtype) < 8) continue;
        OWN(Tensor, tensor) = NULL;
        assert_ok(read_tensor(with_typed(dtype), &tensor));
        size_t size = dtype_bits(dtype) / 8;
        assert_int_equal(tensor_bytes(tensor), 2 * size);
        float floats[2] = {1, 2};
        double doubles[2] = {1, 2};
        char expected[16] = {0};
        memcpy(expected, &one, size);
        memcpy(expected + size, &two, size);
        if (dtype == DTYPE_FLOAT32) memcpy(expected, floats, sizeof floats);
        if (dtype == DTYPE_FLOAT64) memcpy(expected, doubles, sizeof doubles);
        /* 16-bit and 8-bit floats are given by their bits */
        assert_memory_equal(tensor_data(tensor), expected, 2 * size);
    }
}

/* Data in the field of another type is no data. */
static void test_onnx_tensor_ignores_fields_of_other_types(void **state) {
    (void)state;
    OnnxTensor *proto = with_typed(DTYPE_FLOAT32);
    proto->data_type = DTYPE_INT64;
    refused(INVALID, "0 elements of data", proto);
}

static void test_onnx_tensor_reads_packed_four_bit_elements(void **state) {
    (void)state;
    static const DType dtypes[] = {DTYPE_INT4, DTYPE_UINT4};
    for (size_t i = 0; i < 2; i++) {
        OWN(Tensor, raw) = NULL;
        OWN(Tensor, typed) = NULL;
        OnnxTensor *proto = with_raw("float32[3]", "\x21\x03", 2);
        proto->data_type = (int32_t)dtypes[i];
        assert_ok(read_tensor(proto, &raw));
        assert_memory_equal(tensor_data(raw), "\x21\x03", 2);
        proto = onnx_tensor_make("t", "float32[3]");
        proto->data_type = (int32_t)dtypes[i];
        proto->n_int32_data = 2;
        proto->int32_data = copy_of((const int32_t[]){0x21, 0x03}, 2 * sizeof(int32_t));
        assert_ok(read_tensor(proto, &typed));
        assert_memory_equal(tensor_data(typed), "\x21\x03", 2);
        proto = with_raw("float32[3]", "\x21", 1);
        proto->data_type = (int32_t)dtypes[i];
        refused(INVALID, "1 bytes of data", proto);
    }
}

/* Six bits: packed in raw_data, one to an item elsewhere. */
static void test_onnx_tensor_reads_six_bit_elements(void **state) {
    (void)state;
    OWN(Tensor, raw) = NULL;
    OWN(Tensor, typed) = NULL;
    OnnxTensor *proto = with_raw("float32[3]", "\x41\x30\xfc", 3);
    proto->data_type = DTYPE_FLOAT6E2M3;
    assert_ok(read_tensor(proto, &raw));
    assert_memory_equal(tensor_data(raw), "\x41\x30\x00", 3); /* no bits behind the last */
    proto = onnx_tensor_make("t", "float32[3]");
    proto->data_type = DTYPE_FLOAT6E2M3;
    proto->n_int32_data = 3;
    proto->int32_data = copy_of((const int32_t[]){1, 1, 3 | 0x40}, 3 * sizeof(int32_t));
    assert_ok(read_tensor(proto, &typed));
    assert_memory_equal(tensor_data(typed), tensor_data(raw), 3);
    proto = onnx_tensor_make("t", "float32[3]");
    proto->data_type = DTYPE_FLOAT6E2M3;
    proto->n_int32_data = 4;
    proto->int32_data = copy_of((const int32_t[]){1, 1, 3, 1}, 4 * sizeof(int32_t));
    refused(INVALID, "4 elements of data", proto);
}

static void test_onnx_tensor_makes_bools_zero_or_one(void **state) {
    (void)state;
    OWN(Tensor, tensor) = NULL;
    assert_ok(read_tensor(with_raw("bool[4]", "\x00\x01\x02\xff", 4), &tensor));
    assert_memory_equal(tensor_data(tensor), "\x00\x01\x01\x01", 4);
}

int test_onnx_tensor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_tensor_refuses_dimensions_that_no_tensor_has),
        cmocka_unit_test(test_onnx_tensor_refuses_products_that_overflow),
        cmocka_unit_test(test_onnx_tensor_compares_data_with_dimensions),
        cmocka_unit_test(test_onnx_tensor_takes_empty_tensors),
        cmocka_unit_test(test_onnx_tensor_refuses_element_types_it_has_not),
        cmocka_unit_test(test_onnx_tensor_refuses_strings_and_segments),
        cmocka_unit_test(test_onnx_tensor_reads_strings),
        cmocka_unit_test(test_onnx_tensor_reads_every_types_own_field),
        cmocka_unit_test(test_onnx_tensor_ignores_fields_of_other_types),
        cmocka_unit_test(test_onnx_tensor_reads_packed_four_bit_elements),
        cmocka_unit_test(test_onnx_tensor_reads_six_bit_elements),
        cmocka_unit_test(test_onnx_tensor_makes_bools_zero_or_one),
    };
    return cmocka_run_group_tests_name("onnx_tensor", tests, NULL, NULL);
}
