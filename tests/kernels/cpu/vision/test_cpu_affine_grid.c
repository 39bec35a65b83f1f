#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, const double *theta, int rows,
    const double *size, const double *expected) {
    DeviceCall call = {.operator_name = "AffineGrid", .attributes = attributes, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, theta, 3, 1, rows, rows + 1);
    call.inputs[1] = device_tensor(DTYPE_INT64, size, 1, rows + 2);
    everywhere_check(&call, expected, 1e-3);
    everywhere_release(&call);
}

static void test_positions_are_transformed(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16};
    static const double theta[6] = {1, 0, 0.5, 0, 2, 0};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        check(NULL, dtypes[i], theta, 2, (double[]){1, 1, 2, 3},
            (double[]){-1.0 / 6, -1, 0.5, -1, 7.0 / 6, -1, -1.0 / 6, 1, 0.5, 1, 7.0 / 6, 1});
        check("{align_corners=1}", dtypes[i], theta, 2, (double[]){1, 1, 2, 3},
            (double[]){-0.5, -2, 0.5, -2, 1.5, -2, -0.5, 2, 0.5, 2, 1.5, 2});
    }
}

static void test_a_single_element_lies_in_the_middle(void **state) {
    static const double theta[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    (void)state;
    for (int corners = 0; corners < 2; corners++)
        check(corners ? "{align_corners=1}" : NULL, DTYPE_FLOAT32, theta, 3,
            (double[]){1, 1, 1, 1, 1}, (double[]){0, 0, 0});
}

int test_cpu_affine_grid(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_are_transformed),
        cmocka_unit_test(test_a_single_element_lies_in_the_middle),
    };
    return cmocka_run_group_tests_name("cpu_affine_grid", tests, NULL, NULL);
}
