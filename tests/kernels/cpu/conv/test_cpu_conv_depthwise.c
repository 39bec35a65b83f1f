#include "kernels/cpu/conv/cpu_conv_depthwise.h"

#include <stdlib.h>

#include "kernels/cpu/device/cpu_device.h"
#include "kernels/registry/device_registry.h"
#include "tests/kernels/fixtures/conv_reference.h"

static CpuConv make_conv(int64_t size) {
    return (CpuConv){.channels = 1,
        .filters = 1,
        .kernel_count = 9,
        .window = {.rank = 2,
            .kernel = {3, 3},
            .stride = {1, 1},
            .dilation = {1, 1},
            .input = {size, size},
            .output = {size, size}}};
}

static void test_depthwise_is_chosen_by_shape(void **state) {
    (void)state;
    CpuConv conv = make_conv(112);
    assert_true(cpu_conv_is_depthwise(&conv));
    conv.channels = 2;
    assert_false(cpu_conv_is_depthwise(&conv));
    conv = make_conv(0);
    assert_false(cpu_conv_is_depthwise(&conv));
    conv = make_conv(5000); /* too wide for the stack */
    assert_false(cpu_conv_is_depthwise(&conv));
    conv = make_conv(10);
    conv.window.dilation[0] = 4000;
    assert_false(cpu_conv_is_depthwise(&conv));
    conv = make_conv(10);
    conv.window.rank = 3;
    assert_false(cpu_conv_is_depthwise(&conv));
}

/* Rows of every length around the vectors' ends, borders, steps; the portable device's bits. Where
 * the rules would take oneDNN's kernel, too. */
static void test_depthwise_rows_of_any_length_agree_with_the_definition(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    assert_ok(device_open("cpu", &device));
    cpu_device_force_rule(device, CPU_RULE_DNNL_CONV_GROUP_CHANNELS_MIN, 2);
    for (int64_t width = 1; width <= 80; width += width < 36 ? 1 : 11)
        for (int64_t stride = 1; stride <= 3; stride++) {
            const ConvCase conv = {
                1, 3, 1, 2, 2, {4, width}, {3, 3}, {1, stride}, {1, 1}, {1, 1}, {1, 1}};
            const Shape x_shape = conv_reference_input(&conv);
            const Shape w_shape = conv_reference_weights(&conv);
            float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
            float *w = kernel_random_floats(2, shape_count_unchecked(&w_shape));
            char attributes[256];
            conv_reference_attributes(&conv, "", attributes, sizeof attributes);
            const KernelCall call = {.name = "Conv",
                .attributes = attributes,
                .input_count = 2,
                .output_count = 1,
                .inputs = {{DTYPE_FLOAT32, x_shape, x}, {DTYPE_FLOAT32, w_shape, w}}};
            double *expected = conv_reference(&conv, x, w);
            KernelResult result, portable;
            assert_ok(kernel_call_run(device, &call, KERNEL_MODE_PLAIN, &result));
            assert_string_equal(result.kernel_name, "cpu.conv");
            kernel_check_close(&result, 0, expected, 1e-6);
            assert_ok(
                kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
            assert_memory_equal(portable.data[0], result.data[0], result.bytes[0]);
            kernel_result_deinit(&portable);
            kernel_result_deinit(&result);
            free(expected), free(x), free(w);
        }
}

int test_cpu_conv_depthwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depthwise_is_chosen_by_shape),
        cmocka_unit_test(test_depthwise_rows_of_any_length_agree_with_the_definition),
    };
    return cmocka_run_group_tests_name("cpu_conv_depthwise", tests, NULL, NULL);
}
