#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

/* zero_point NULL: absent. The tensors are released. */
static void check(const char *operator_name, const char *attributes, Tensor *x, Tensor *scale,
    Tensor *zero_point, const double *expected) {
    DeviceCall call = {.operator_name = operator_name, .attributes = attributes};
    call.inputs[0] = x;
    call.inputs[1] = scale;
    call.inputs[2] = zero_point;
    call.input_count = zero_point ? 3 : 2;
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static Tensor *scalar(DType dtype, double value) { return device_tensor(dtype, &value, 0); }

static void test_elements_are_divided_rounded_shifted_and_saturated(void **state) {
    static const double x[] = {0.25, 0.75, -1.25, 1e30, -1e30, (double)NAN};
    (void)state;
    check("QuantizeLinear", NULL, device_tensor(DTYPE_FLOAT32, x, 1, 6), scalar(DTYPE_FLOAT32, 0.5),
        scalar(DTYPE_UINT8, 3), (double[]){3, 5, 1, 255, 0, 3});
    check("QuantizeLinear", NULL, device_tensor(DTYPE_FLOAT32, x, 1, 6), scalar(DTYPE_FLOAT32, 0.5),
        scalar(DTYPE_INT4, -1), (double[]){-1, 1, -3, 7, -8, -1});
    check("QuantizeLinear", NULL, device_tensor(DTYPE_FLOAT32, x, 1, 5), scalar(DTYPE_FLOAT32, 0.5),
        scalar(DTYPE_FLOAT8E5M2, 0), (double[]){0.5, 1.5, -2.5, 57344, -57344});
    check("QuantizeLinear", "{saturate=0}", device_tensor(DTYPE_FLOAT32, x, 1, 5),
        scalar(DTYPE_FLOAT32, 0.5), scalar(DTYPE_FLOAT8E5M2, 0),
        (double[]){0.5, 1.5, -2.5, (double)INFINITY, -(double)INFINITY});
}

/* 2049 is no float16: the scale's type, or the attribute, says how precisely is divided. */
static void test_the_division_has_the_precision_of_the_scale_or_the_attribute(void **state) {
    static const double x[] = {2049};
    (void)state;
    check("QuantizeLinear", NULL, device_tensor(DTYPE_FLOAT32, x, 1, 1), scalar(DTYPE_FLOAT16, 1),
        scalar(DTYPE_INT16, 0), (double[]){2048});
    check("QuantizeLinear", "{precision=float32}", device_tensor(DTYPE_FLOAT32, x, 1, 1),
        scalar(DTYPE_FLOAT16, 1), scalar(DTYPE_INT16, 0), (double[]){2049});
    check("QuantizeLinear", "{precision=bfloat16}", device_tensor(DTYPE_FLOAT32, x, 1, 1),
        scalar(DTYPE_FLOAT32, 1), scalar(DTYPE_INT16, 0), (double[]){2048});
    /* exactly, though neither is a float32 */
    check("QuantizeLinear", NULL, device_tensor(DTYPE_INT32, (double[]){0x7fffffff}, 1, 1),
        scalar(DTYPE_INT32, 0x7ffffffd), scalar(DTYPE_INT8, 0), (double[]){1});
    check("QuantizeLinear", NULL, device_tensor(DTYPE_INT32, (double[]){7}, 1, 1),
        scalar(DTYPE_INT32, 0), scalar(DTYPE_INT8, 0), (double[]){127});
}

static void test_each_place_along_the_axis_has_its_scale(void **state) {
    static const double x[] = {1, 2, 3, 4, 5, 6}, scale[] = {1, 2, 4}, zero[] = {0, 1, 2};
    (void)state;
    check("DequantizeLinear", NULL, device_tensor(DTYPE_INT4, x, 2, 2, 3),
        device_tensor(DTYPE_FLOAT32, scale, 1, 3), device_tensor(DTYPE_INT4, zero, 1, 3),
        (double[]){1, 2, 4, 4, 8, 16});
    check("DequantizeLinear", "{axis=0}", device_tensor(DTYPE_UINT8, x, 2, 3, 2),
        device_tensor(DTYPE_FLOAT16, scale, 1, 3), NULL, (double[]){1, 2, 6, 8, 20, 24});
}

static void test_each_block_has_its_scale(void **state) {
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 1, 2, 3}, scale[] = {1, 2, 4, 8, 16, 32};
    (void)state;
    check("DequantizeLinear", "{axis=1, block_size=2}", device_tensor(DTYPE_INT8, x, 2, 2, 5),
        device_tensor(DTYPE_FLOAT32, scale, 2, 2, 3), NULL,
        (double[]){1, 2, 6, 8, 20, 48, 56, 16, 32, 96});
    check("DequantizeLinear", "{axis=0, block_size=3}", device_tensor(DTYPE_INT4, x, 2, 5, 2),
        device_tensor(DTYPE_FLOAT32, scale, 2, 2, 2), NULL,
        (double[]){1, 4, 3, 8, 5, 12, 28, 8, 8, 24});
}

static void test_scales_that_are_powers_of_two_need_an_output_type(void **state) {
    (void)state;
    check("DequantizeLinear", "{output_dtype=float16}",
        device_tensor(DTYPE_FLOAT4E2M1, (double[]){-6, 0.5, 3}, 1, 3),
        scalar(DTYPE_FLOAT8E8M0, 0x1p-3), NULL, (double[]){-0.75, 0.0625, 0.375});
}

int test_cpu_quantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_divided_rounded_shifted_and_saturated),
        cmocka_unit_test(test_the_division_has_the_precision_of_the_scale_or_the_attribute),
        cmocka_unit_test(test_each_place_along_the_axis_has_its_scale),
        cmocka_unit_test(test_each_block_has_its_scale),
        cmocka_unit_test(test_scales_that_are_powers_of_two_need_an_output_type),
    };
    return cmocka_run_group_tests_name("cpu_quantize", tests, NULL, NULL);
}
