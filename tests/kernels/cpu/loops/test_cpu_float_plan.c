#include "kernels/cpu/loops/cpu_float_plan.h"

#include "tests/kernels/fixtures/kernel_call.h"

static void test_float_plan_takes_no_mixture_with_float64(void **state) {
    (void)state;
    TensorSpec inputs[2] = {{true, DTYPE_FLOAT32, 0, {1, {2}}}, {true, DTYPE_FLOAT16, 0, {1, {2}}}};
    const PlanRequest request = {.input_count = 2, .inputs = inputs};
    assert_true(cpu_float_plan_takes(&request));
    inputs[1].dtype = DTYPE_FLOAT64;
    assert_false(cpu_float_plan_takes(&request));
    inputs[1].dtype = DTYPE_INT32;
    assert_true(cpu_float_plan_takes(&request));
    inputs[0].dtype = DTYPE_FLOAT64;
    assert_true(cpu_float_plan_takes(&request));
}

/* float16 in, float32 beside it: each operand is widened by its own type, outputs narrowed. */
static void test_float_plan_widens_each_operand_by_its_own_type(void **state) {
    (void)state;
    const uint16_t x[4] = {0x3c00, 0x4000, 0x4200, 0xc400}; /* 1, 2, 3, -4 */
    const float scale[1] = {2}, bias[1] = {1}, mean[1] = {0};
    const uint16_t variance_half[1] = {0x3c00};
    KernelCall call = {.name = "BatchNormalization",
        .attributes = "{epsilon=0.0}",
        .input_count = 5,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT16, {3, {1, 1, 4}}, x}, {DTYPE_FLOAT32, {1, {1}}, scale},
            {DTYPE_FLOAT32, {1, {1}}, bias}, {DTYPE_FLOAT32, {1, {1}}, mean},
            {DTYPE_FLOAT32, {1, {1}}, scale}}};
    const float one[1] = {1};
    call.inputs[4].data = one;
    const double expected[4] = {3, 5, 7, -7};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_int_equal(result.dtypes[0], DTYPE_FLOAT16);
    kernel_check_close(&result, 0, expected, 0);
    kernel_result_deinit(&result);
    call.inputs[3] = (KernelInput){DTYPE_FLOAT16, {1, {1}}, (const uint16_t[1]){0}};
    call.inputs[4] = (KernelInput){DTYPE_FLOAT16, {1, {1}}, variance_half};
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 0);
    kernel_result_deinit(&result);
}

/* Integers go through float64 and back, beyond float32's digits, and saturate. */
static void test_float_plan_of_numbers_widens_integers_to_float64(void **state) {
    (void)state;
    const int32_t x[2] = {2147483647, 2147483645};
    const uint8_t bytes[2] = {255, 0};
    const float scales[1] = {2}, roi[2] = {0, 1};
    KernelCall call = {.name = "Resize",
        .attributes = "{mode=\"linear\"}",
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_INT32, {1, {2}}, x}, {DTYPE_FLOAT32, {1, {2}}, roi},
            {DTYPE_FLOAT32, {1, {1}}, scales}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, (double[]){2147483647, 2147483646, 2147483646, 2147483645}, 0);
    kernel_result_deinit(&result);
    call.attributes = "{mode=\"cubic\"}";
    call.inputs[0] = (KernelInput){DTYPE_UINT8, {1, {2}}, bytes};
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, (double[]){255, 197, 58, 0}, 0);
    kernel_result_deinit(&result);
}

int test_cpu_float_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_plan_takes_no_mixture_with_float64),
        cmocka_unit_test(test_float_plan_widens_each_operand_by_its_own_type),
        cmocka_unit_test(test_float_plan_of_numbers_widens_integers_to_float64),
    };
    return cmocka_run_group_tests_name("cpu_float_plan", tests, NULL, NULL);
}
