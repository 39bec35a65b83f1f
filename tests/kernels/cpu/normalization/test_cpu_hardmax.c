#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, const double *x, const double *expected) {
    DeviceCall call = {.operator_name = "Hardmax", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, x, 2, 2, 3);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_the_first_of_the_largest_is_one(void **state) {
    static const double x[6] = {1, 3, 3, 4, -1, 3};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        check(NULL, dtypes[i], x, (double[]){0, 1, 0, 1, 0, 0});
        check("{axis=0}", dtypes[i], x, (double[]){0, 1, 1, 1, 0, 0});
    }
}

static void test_infinities_compare_and_nan_is_the_largest(void **state) {
    const double low = -(double)INFINITY;
    (void)state;
    check(NULL, DTYPE_FLOAT32, (double[]){low, low, low, (double)INFINITY, (double)NAN, 0},
        (double[]){1, 0, 0, 0, 1, 0});
}

static void test_long_lanes_are_searched_in_blocks(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    double x[COUNT], expected[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) x[i] = i % 997;
    expected[996] = 1;
    DeviceCall call = {.operator_name = "Hardmax", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, COUNT);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

int test_cpu_hardmax(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_of_the_largest_is_one),
        cmocka_unit_test(test_infinities_compare_and_nan_is_the_largest),
        cmocka_unit_test(test_long_lanes_are_searched_in_blocks),
    };
    return cmocka_run_group_tests_name("cpu_hardmax", tests, NULL, NULL);
}
