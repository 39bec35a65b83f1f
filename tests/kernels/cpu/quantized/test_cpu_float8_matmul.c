#include "tests/kernels/fixtures/everywhere.h"

static Tensor *scalar(DType dtype, double value) { return device_tensor(dtype, &value, 0); }

static DeviceCall make_call(DType from, DType to) {
    DeviceCall call = {.operator_name = "QLinearMatMul", .input_count = 8};
    call.inputs[0] = device_tensor(from, (double[]){1, 2, 3, 4}, 2, 2, 2);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, (double[]){1, 2}, 1, 2);
    call.inputs[2] = device_tensor(from, (double[]){0, 1}, 1, 2);
    call.inputs[3] = device_tensor(from, (double[]){1, 2, 3, 4}, 2, 2, 2);
    call.inputs[4] = device_tensor(DTYPE_FLOAT32, (double[]){1, 0.5}, 1, 2);
    call.inputs[5] = scalar(from, 0);
    call.inputs[6] = scalar(DTYPE_FLOAT32, 2);
    call.inputs[7] = scalar(to, 1);
    return call;
}

/* Sums 7, 10 and 11, 16 times 1/2, 1/4 and 1, 1/2, plus 1. */
static void test_floats_of_8_bits_are_multiplied_and_rounded_to_any_byte(void **state) {
    (void)state;
    DeviceCall call = make_call(DTYPE_FLOAT8E4M3FN, DTYPE_FLOAT8E4M3FN);
    everywhere_check(&call, (double[]){4.5, 3.5, 12, 9}, 0);
    everywhere_release(&call);
    call = make_call(DTYPE_FLOAT8E5M2, DTYPE_INT8);
    everywhere_check(&call, (double[]){5, 3, 12, 9}, 0);
    everywhere_release(&call);
    call = make_call(DTYPE_INT8, DTYPE_FLOAT8E4M3FN);
    everywhere_check(&call, (double[]){4.5, 3.5, 12, 9}, 0);
    everywhere_release(&call);
}

static void test_what_is_too_large_saturates(void **state) {
    (void)state;
    DeviceCall call = make_call(DTYPE_FLOAT8E4M3FN, DTYPE_FLOAT8E4M3FN);
    tensor_release(call.inputs[6]);
    call.inputs[6] = scalar(DTYPE_FLOAT32, 0x1p-10);
    everywhere_check(&call, (double[]){448, 448, 448, 448}, 0);
    everywhere_release(&call);
}

int test_cpu_float8_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_of_8_bits_are_multiplied_and_rounded_to_any_byte),
        cmocka_unit_test(test_what_is_too_large_saturates),
    };
    return cmocka_run_group_tests_name("cpu_float8_matmul", tests, NULL, NULL);
}
