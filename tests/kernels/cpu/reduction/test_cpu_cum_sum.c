#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, double axis, const double *expected) {
    static const double x[6] = {1, 2, 3, 4, 5, 6};
    DeviceCall call = {.operator_name = "CumSum", .attributes = attributes, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, x, 2, 2, 3);
    call.inputs[1] = device_tensor(DTYPE_INT32, &axis, 0);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_sums_run_forwards_backwards_and_exclusively(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_FLOAT16, DTYPE_UINT8};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        check(NULL, dtypes[i], 1, (double[]){1, 3, 6, 4, 9, 15});
        check(NULL, dtypes[i], -2, (double[]){1, 2, 3, 5, 7, 9});
        check("{exclusive=1}", dtypes[i], 1, (double[]){0, 1, 3, 0, 4, 9});
        check("{reverse=1}", dtypes[i], 1, (double[]){6, 5, 3, 15, 11, 6});
        check("{exclusive=1, reverse=1}", dtypes[i], 1, (double[]){5, 3, 0, 11, 6, 0});
    }
}

static void test_products_start_from_one(void **state) {
    static const double x[6] = {1, 2, 3, 4, 5, 6};
    static const struct {
        const char *attributes;
        double expected[6];
    } cases[] = {
        {NULL, {1, 2, 6, 4, 20, 120}},
        {"{exclusive=1}", {1, 1, 2, 1, 4, 20}},
        {"{exclusive=1, reverse=1}", {6, 3, 1, 30, 6, 1}},
    };
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_INT64, DTYPE_FLOAT16, DTYPE_UINT8};
    const double axis = 1;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 4; k++) {
            DeviceCall call = {
                .operator_name = "CumProd", .attributes = cases[i].attributes, .input_count = 2};
            call.inputs[0] = device_tensor(dtypes[k], x, 2, 2, 3);
            call.inputs[1] = device_tensor(DTYPE_INT64, &axis, 0);
            everywhere_check(&call, cases[i].expected, 0);
            everywhere_release(&call);
        }
}

static void test_wide_lanes_are_cut_into_blocks(void **state) {
    const Shape shape = {3, {2, 20, 1500}};
    const double axis = 1;
    (void)state;
    DeviceCall call = {.operator_name = "CumSum", .input_count = 2};
    call.inputs[0] = device_tensor_random(DTYPE_INT32, &shape, -100, 100, 1);
    call.inputs[1] = device_tensor(DTYPE_INT64, &axis, 0);
    Tensor *out = NULL;
    everywhere_run(&call, &out);
    for (int64_t i = 0; i < 2 * 20 * 1500; i++) {
        double before = i / 1500 % 20 == 0 ? 0 : device_tensor_get(out, i - 1500);
        assert_true(device_tensor_get(out, i) == before + device_tensor_get(call.inputs[0], i));
    }
    tensor_release(out);
    everywhere_release(&call);
}

int test_cpu_cum_sum(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_run_forwards_backwards_and_exclusively),
        cmocka_unit_test(test_products_start_from_one),
        cmocka_unit_test(test_wide_lanes_are_cut_into_blocks),
    };
    return cmocka_run_group_tests_name("cpu_cum_sum", tests, NULL, NULL);
}
