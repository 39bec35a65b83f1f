#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(uint32_t count, const double *x, const double *y, double scale, double zero) {
    DeviceCall call = {
        .operator_name = "DynamicQuantizeLinear", .input_count = 1, .output_count = 3};
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {NULL};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 1, (int)count);
    everywhere_run(&call, outputs);
    everywhere_compare(outputs[0], y, 0);
    everywhere_compare(outputs[1], &scale, 0);
    everywhere_compare(outputs[2], &zero, 0);
    for (uint32_t i = 0; i < 3; i++) tensor_release(outputs[i]);
    everywhere_release(&call);
}

static void test_the_range_always_holds_zero(void **state) {
    (void)state;
    check(3, (double[]){0, 255, 51}, (double[]){0, 255, 51}, 1, 0);
    check(2, (double[]){255, 510}, (double[]){128, 255}, 2, 0);
    check(3, (double[]){-510, -255, -2}, (double[]){0, 127, 254}, 2, 255);
    check(3, (double[]){-127.5, 127.5, 0}, (double[]){0, 255, 128}, 1, 128);
}

static void test_nothing_but_zeros_and_nothing_at_all_have_a_scale(void **state) {
    (void)state;
    check(2, (double[]){0, -0.0}, (double[]){0, 0}, 1, 0);
    check(0, NULL, NULL, 1, 0);
}

static void test_what_is_no_number_does_not_widen_the_range(void **state) {
    (void)state;
    check(3, (double[]){(double)NAN, 255, 3}, (double[]){0, 255, 3}, 1, 0);
}

/* More than the vectors that are looked at together, and a rest. */
static void test_every_element_of_a_long_row_is_quantized(void **state) {
    enum { COUNT = 256 + 77 };
    double x[COUNT], y[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        y[i] = (i * 7 + 3) % 256;
        x[i] = y[i] - 100;
    }
    x[COUNT - 1] = x[40] = (double)NAN;
    y[COUNT - 1] = y[40] = 100;
    check(COUNT, x, y, 1, 100);
}

static void test_infinity_leaves_nothing_else(void **state) {
    double x[40] = {0}, y[40] = {0};
    (void)state;
    x[3] = 5, x[17] = -7, x[33] = (double)INFINITY;
    check(40, x, y, (double)INFINITY, 0);
}

int test_cpu_dynamic_quantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_range_always_holds_zero),
        cmocka_unit_test(test_nothing_but_zeros_and_nothing_at_all_have_a_scale),
        cmocka_unit_test(test_every_element_of_a_long_row_is_quantized),
        cmocka_unit_test(test_infinity_leaves_nothing_else),
        cmocka_unit_test(test_what_is_no_number_does_not_widen_the_range),
    };
    return cmocka_run_group_tests_name("cpu_dynamic_quantize", tests, NULL, NULL);
}
