#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, const double *x, const double *expected) {
    DeviceCall call = {
        .operator_name = "LpNormalization", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, x, 2, 2, 2);
    everywhere_check(&call, expected, 1e-7);
    everywhere_release(&call);
}

static void test_lanes_are_divided_by_their_norm(void **state) {
    static const double x[4] = {3, 4, -6, 2};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check(NULL, dtypes[i], x, (double[]){0.6, 0.8, -6 / sqrt(40), 2 / sqrt(40)});
        check("{p=1}", dtypes[i], x, (double[]){3.0 / 7, 4.0 / 7, -0.75, 0.25});
        check("{p=1, axis=0}", dtypes[i], x, (double[]){1.0 / 3, 2.0 / 3, -2.0 / 3, 1.0 / 3});
    }
    check("{p=1}", DTYPE_FLOAT16, (double[]){1, 3, -4, 0}, (double[]){0.25, 0.75, -1, 0});
}

static void test_a_lane_of_zeros_stays_and_nan_spreads(void **state) {
    (void)state;
    check(NULL, DTYPE_FLOAT32, (double[]){0, 0, (double)NAN, 1},
        (double[]){0, 0, (double)NAN, (double)NAN});
}

static void test_many_lanes_go_in_blocks(void **state) {
    (void)state;
    enum { COUNT = 300 };
    static double x[2 * COUNT], y[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = i + 1;
        x[COUNT + i] = 3 * (i + 1);
        y[i] = 0.25;
        y[COUNT + i] = 0.75;
    }
    DeviceCall call = {
        .operator_name = "LpNormalization", .attributes = "{axis=0, p=1}", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 2, 2, COUNT);
    everywhere_check(&call, y, 0);
    everywhere_release(&call);
}

int test_cpu_lp_normalization(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_are_divided_by_their_norm),
        cmocka_unit_test(test_a_lane_of_zeros_stays_and_nan_spreads),
        cmocka_unit_test(test_many_lanes_go_in_blocks),
    };
    return cmocka_run_group_tests_name("cpu_lp_normalization", tests, NULL, NULL);
}
