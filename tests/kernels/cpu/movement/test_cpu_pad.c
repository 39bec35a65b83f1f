#include "tests/kernels/fixtures/everywhere.h"

static void check(
    const char *attributes, const double *pads, const double *value, const double *expected) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT8, DTYPE_FLOAT16, DTYPE_INT64};
    static const double data[6] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < 4; i++) {
        DeviceCall call = {.operator_name = "Pad", .attributes = attributes, .input_count = 3};
        call.inputs[0] = device_tensor(dtypes[i], data, 2, 2, 3);
        call.inputs[1] = device_tensor(DTYPE_INT64, pads, 1, 4);
        if (value) call.inputs[2] = device_tensor(dtypes[i], value, 0);
        everywhere_check(&call, expected, 0);
        everywhere_release(&call);
    }
}

static void test_constants_fill_around_and_negative_pads_cut(void **state) {
    const double nine = 9;
    (void)state;
    check(NULL, (double[]){1, 0, 0, 2}, &nine,
        (double[]){9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9});
    check(NULL, (double[]){0, -1, 0, 1}, NULL, (double[]){2, 3, 0, 5, 6, 0});
    check(NULL, (double[]){1, 0, -2, 0}, NULL, (double[]){0, 0, 0});
    check(NULL, (double[]){0, 5, 0, -3}, &nine, (double[]){9, 9, 9, 9, 9, 9, 9, 9, 9, 9});
    check(NULL, (double[]){0, 0, 0, 0}, NULL, (double[]){1, 2, 3, 4, 5, 6});
    check(NULL, (double[]){1, 0, 1, 0}, NULL, (double[]){0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0});
}

static void test_reflect_edge_and_wrap(void **state) {
    (void)state;
    check("{mode=\"reflect\"}", (double[]){0, 2, 1, 1}, NULL,
        (double[]){3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2});
    check("{mode=\"edge\"}", (double[]){1, 1, 0, 2}, NULL,
        (double[]){1, 1, 2, 3, 3, 3, 1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6});
    check("{mode=\"wrap\"}", (double[]){0, 1, 1, 4}, NULL,
        (double[]){3, 1, 2, 3, 1, 2, 3, 1, 6, 4, 5, 6, 4, 5, 6, 4, 3, 1, 2, 3, 1, 2, 3, 1});
}

static void test_nothing_may_be_padded_to_something(void **state) {
    const double value = 7;
    (void)state;
    DeviceCall call = {.operator_name = "Pad", .input_count = 3};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, &value, 2, 2, 0);
    call.inputs[1] = device_tensor(DTYPE_INT64, (double[]){0, 1, 0, 1}, 1, 4);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, &value, 0);
    everywhere_check(&call, (double[]){7, 7, 7, 7}, 0);
    everywhere_release(&call);
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, &value, 0);
    call.inputs[1] = device_tensor(DTYPE_INT64, &value, 1, 0);
    call.input_count = 2;
    everywhere_check(&call, &value, 0);
    everywhere_release(&call);
}

int test_cpu_pad(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_fill_around_and_negative_pads_cut),
        cmocka_unit_test(test_reflect_edge_and_wrap),
        cmocka_unit_test(test_nothing_may_be_padded_to_something),
    };
    return cmocka_run_group_tests_name("cpu_pad", tests, NULL, NULL);
}
