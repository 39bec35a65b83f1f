#include "tests/kernels/fixtures/everywhere.h"

static Tensor *scalar(DType dtype, double value) { return device_tensor(dtype, &value, 0); }

static void test_matrices_of_bytes_are_multiplied_less_their_zero_points(void **state) {
    static const double a[] = {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0};
    static const double b[] = {1, 4, 2, 5, 3, 6};
    DeviceCall call = {.operator_name = "MatMulInteger", .input_count = 4};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_UINT8, a, 2, 4, 3);
    call.inputs[1] = device_tensor(DTYPE_UINT8, b, 2, 3, 2);
    call.inputs[2] = scalar(DTYPE_UINT8, 12);
    call.inputs[3] = scalar(DTYPE_UINT8, 0);
    everywhere_check(&call, (double[]){-38, -83, -44, -98, -50, -113, -56, -128}, 0);
    everywhere_release(&call);
}

/* Every row and column its own. */
static void test_rows_and_columns_have_zero_points(void **state) {
    DeviceCall call = {.operator_name = "MatMulInteger", .input_count = 4};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_UINT8, (double[]){1, 255, 3, 4}, 2, 2, 2);
    call.inputs[1] = device_tensor(DTYPE_INT8, (double[]){-128, 2, 127, -4}, 2, 2, 2);
    call.inputs[2] = device_tensor(DTYPE_UINT8, (double[]){1, 2}, 1, 2);
    call.inputs[3] = device_tensor(DTYPE_INT8, (double[]){-1, 1}, 1, 2);
    everywhere_check(&call, (double[]){254 * 128, 254 * -5, -127 + 256, 1 - 10}, 0);
    everywhere_release(&call);
}

static void test_quantized_matrices_are_scaled_by_row_and_column(void **state) {
    DeviceCall call = {.operator_name = "QLinearMatMul", .input_count = 8};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_INT8, (double[]){1, 2, 3, 4}, 2, 2, 2);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, (double[]){1, 2}, 1, 2);
    call.inputs[2] = device_tensor(DTYPE_INT8, (double[]){0, 1}, 1, 2);
    call.inputs[3] = device_tensor(DTYPE_UINT8, (double[]){1, 2, 3, 4}, 2, 2, 2);
    call.inputs[4] = device_tensor(DTYPE_FLOAT32, (double[]){1, 0.5}, 1, 2);
    call.inputs[5] = device_tensor(DTYPE_UINT8, (double[]){0, 0}, 1, 2);
    call.inputs[6] = scalar(DTYPE_FLOAT32, 2);
    call.inputs[7] = scalar(DTYPE_UINT8, 100);
    /* sums 7, 10 and 11, 16 times 1/2, 1/4 and 1, 1/2 */
    everywhere_check(&call, (double[]){104, 102, 111, 108}, 0);
    everywhere_release(&call);
}

int test_cpu_integer_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices_of_bytes_are_multiplied_less_their_zero_points),
        cmocka_unit_test(test_rows_and_columns_have_zero_points),
        cmocka_unit_test(test_quantized_matrices_are_scaled_by_row_and_column),
    };
    return cmocka_run_group_tests_name("cpu_integer_matmul", tests, NULL, NULL);
}
