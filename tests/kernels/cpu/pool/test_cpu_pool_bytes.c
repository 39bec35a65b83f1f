#include "tests/kernels/fixtures/kernel_call.h"

static void check_pool(DType dtype, const char *attributes, const void *x, const double *expected) {
    const KernelCall call = {.name = "FusedPool",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = {{dtype, (Shape){4, {1, 2, 3, 2}}, x}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_string_equal(result.kernel_name, "cpu.pool_bytes");
    kernel_check_close(&result, 0, expected, 0);
    kernel_result_deinit(&result);
}

static void test_the_largest_byte_of_each_channel(void **state) {
    (void)state;
    static const uint8_t x[] = {1, 10, 200, 20, 3, 30, 4, 40, 5, 50, 6, 255};
    static const char *const attributes = "{operator=\"MaxPool\", kernel_shape=[2, 2]}";
    check_pool(DTYPE_UINT8, attributes, x, (const double[]){200, 50, 200, 255});
    check_pool(DTYPE_INT8, attributes, x, (const double[]){5, 50, 6, 50});
}

static void test_a_window_beside_the_image_has_the_least_byte(void **state) {
    (void)state;
    static const uint8_t x[] = {1, 10, 200, 20, 3, 30, 4, 40, 5, 50, 6, 255};
    static const char *const attributes =
        "{operator=\"MaxPool\", kernel_shape=[2, 3], pads=[2, 0, 0, 0], strides=[3, 1]}";
    check_pool(DTYPE_UINT8, attributes, x, (const double[]){0, 0});
    check_pool(DTYPE_INT8, attributes, x, (const double[]){-128, -128});
}

int test_cpu_pool_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_byte_of_each_channel),
        cmocka_unit_test(test_a_window_beside_the_image_has_the_least_byte),
    };
    return cmocka_run_group_tests_name("cpu_pool_bytes", tests, NULL, NULL);
}
