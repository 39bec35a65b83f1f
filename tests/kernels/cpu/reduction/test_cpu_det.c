#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void test_a_determinant_is_found_whatever_row_leads(void **state) {
    static const double matrices[3][9] = {
        {2, 0, 0, 0, 3, 0, 0, 0, 4}, {0, 1, 2, 0, 3, 4, 5, 6, 7}, {1, 2, 3, 2, 4, 6, 1, 1, 1}};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        DeviceCall call = {.operator_name = "Det", .input_count = 1};
        call.inputs[0] = device_tensor(dtypes[i], matrices[0], 3, 3, 3, 3);
        everywhere_check(&call, (double[]){24, -10, 0}, 1e-6);
        everywhere_release(&call);
    }
}

static void test_of_no_rows_it_is_one_and_of_no_number_none(void **state) {
    (void)state;
    DeviceCall call = {.operator_name = "Det", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){0}, 3, 2, 0, 0);
    everywhere_check(&call, (double[]){1, 1}, 0);
    everywhere_release(&call);
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){1, (double)NAN, 2, 3}, 2, 2, 2);
    everywhere_check(&call, (double[]){(double)NAN}, 0);
    everywhere_release(&call);
}

static void test_many_matrices_are_shared_out(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static double values[COUNT * 4], expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const double matrix[4] = {i % 7, i % 5, i % 3, i % 11};
        memcpy(values + i * 4, matrix, sizeof matrix);
        expected[i] = matrix[0] * matrix[3] - matrix[1] * matrix[2];
    }
    DeviceCall call = {.operator_name = "Det", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, values, 3, COUNT, 2, 2);
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

int test_cpu_det(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_determinant_is_found_whatever_row_leads),
        cmocka_unit_test(test_of_no_rows_it_is_one_and_of_no_number_none),
        cmocka_unit_test(test_many_matrices_are_shared_out),
    };
    return cmocka_run_group_tests_name("cpu_det", tests, NULL, NULL);
}
