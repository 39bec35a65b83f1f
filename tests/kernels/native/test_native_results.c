#include "kernels/native/native_results.h"

#include "tests/kernels/native/native_fixture.h"

typedef struct Made {
    AbiTensorObject tensor;
    AbiArrayObject inner, outer;
    AbiAny inner_items[2], outer_items[2];
    int64_t dims[1], strides[1];
    float items[3];
} Made;

/* (items, (7, items)) */
static void make(Made *made) {
    *made = (Made){.dims = {3}, .strides = {1}, .items = {1, 2, 3}};
    made->tensor.head.type = ABI_TENSOR;
    made->tensor.tensor = (DLTensor){.data = made->items,
        .device = {kDLCPU, 0},
        .ndim = 1,
        .dtype = {kDLFloat, 32, 1},
        .shape = made->dims,
        .strides = made->strides};
    made->inner_items[0] = (AbiAny){.type = ABI_INT, .integer = 7};
    made->inner_items[1] = (AbiAny){.type = ABI_TENSOR, .object = &made->tensor.head};
    made->inner = (AbiArrayObject){{.type = ABI_ARRAY}, made->inner_items, 2};
    made->outer_items[0] = made->inner_items[1];
    made->outer_items[1] = (AbiAny){.type = ABI_ARRAY, .object = &made->inner.head};
    made->outer = (AbiArrayObject){{.type = ABI_ARRAY}, made->outer_items, 2};
}

static void test_tuples_are_written_with_their_fields(void **state) {
    (void)state;
    Made made;
    uint32_t count;
    NativeResults measured;
    NativeValue values[5];
    static _Alignas(64) uint8_t data[256];
    ByteWriter OWN_BYTES(bytes) = {0};
    make(&made);
    const AbiAny result = {.type = ABI_ARRAY, .object = &made.outer.head};
    assert_ok(native_results_measure(&result, &measured));
    assert_int_equal(measured.count, 5);
    assert_int_equal(measured.tensor_bytes, 64 + 12);
    assert_ok(native_results_write(&result, &measured, data, 64, &bytes));
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    assert_ok(byte_read_u32(&reader, &count));
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) assert_ok(native_value_read(&reader, &values[i]));
    assert_ok(native_values_check(values, count, 1));
    assert_int_equal(values[1].tensor.place, 64);
    assert_int_equal(values[3].integer, 7);
    assert_int_equal(values[4].tensor.place, 128);
    assert_true(((const float *)(data + 128))[2] == 3);
}

static void test_values_that_are_not_passed_on_are_named(void **state) {
    (void)state;
    Made made;
    NativeResults measured;
    make(&made);
    AbiAny result = {.type = 4};
    assert_fails_saying(UNSUPPORTED, "gave a value of type 4, which is not passed on",
        native_results_measure(&result, &measured));
    result = (AbiAny){.type = ABI_TENSOR, .object = &made.tensor.head};
    made.strides[0] = 2;
    assert_fails_saying(
        UNSUPPORTED, "not compact in host memory", native_results_measure(&result, &measured));
    /* a tuple that holds itself */
    result = (AbiAny){.type = ABI_ARRAY, .object = &made.inner.head};
    made.inner_items[1] = result;
    assert_fails_saying(
        UNSUPPORTED, "tuples inside each other", native_results_measure(&result, &measured));
    made.inner.count = INT64_MAX;
    assert_fails_saying(
        UNSUPPORTED, "a tuple of 9223372036854775807", native_results_measure(&result, &measured));
}

int test_native_results(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuples_are_written_with_their_fields),
        cmocka_unit_test(test_values_that_are_not_passed_on_are_named),
    };
    return cmocka_run_group_tests_name("native_results", tests, NULL, NULL);
}
