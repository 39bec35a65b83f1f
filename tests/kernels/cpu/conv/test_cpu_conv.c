#include <stdlib.h>

#include "tests/kernels/fixtures/conv_reference.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
static const ConvCase cases[] = {
    {1, 1, 3, 8, 2, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 5, 7, 2, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 16, 16, 2, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {2, 1, 3, 20, 2, {23, 17}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
    {1, 1, 33, 100, 2, {7, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 20, 30, 2, {7, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {2, 3, 20, 30, 2, {7, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 4, 6, 2, {10, 10}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 4, 6, 2, {10, 10}, {1, 1}, {1, 1}, {1, 1}, {1, 0}, {0, 2}},
    {1, 4, 2, 3, 2, {12, 9}, {3, 2}, {1, 2}, {2, 1}, {2, 1}, {0, 3}},
    {2, 19, 1, 1, 2, {15, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {1, 6, 1, 1, 2, {15, 21}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 2}},
    {1, 6, 1, 2, 2, {9, 9}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
    {1, 1, 5, 9, 1, {50}, {4}, {3}, {2}, {3}, {1}},
    {2, 5, 1, 1, 1, {37}, {3}, {1}, {1}, {2}, {0}},
    {1, 2, 3, 4, 3, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}, {0, 1, 2}},
    {1, 1, 40, 260, 2, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 2, 3, 2, {2, 3}, {3, 3}, {1, 1}, {1, 1}, {4, 5}, {4, 5}},
    {0, 1, 2, 3, 2, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 64, 48, 2, {30, 29}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
};

static void check_conv(const ConvCase *conv, Device *device, double tolerance) {
    const Shape x_shape = conv_reference_input(conv), w_shape = conv_reference_weights(conv);
    const Shape y_shape = conv_reference_output(conv);
    const int64_t pixels = shape_product(&y_shape, 2, y_shape.rank);
    const int64_t filters = conv->groups * conv->filters;
    float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
    float *w = kernel_random_floats(2, shape_count_unchecked(&w_shape));
    float *bias = kernel_random_floats(3, filters);
    char attributes[256];
    conv_reference_attributes(conv, "", attributes, sizeof attributes);
    const KernelCall call = {
        .name = "Conv",
        .attributes = attributes,
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, x_shape, x}, {DTYPE_FLOAT32, w_shape, w},
            {DTYPE_FLOAT32, {1, {filters}}, bias}},
    };
    double *expected = conv_reference(conv, x, w);
    for (int64_t i = 0; i < shape_count_unchecked(&y_shape); i++)
        expected[i] += (double)bias[i / pixels % filters];
    KernelResult result;
    kernel_call_check_bits(device, &call, &result);
    assert_true(shape_equal(&result.shapes[0], &y_shape));
    kernel_check_close(&result, 0, expected, tolerance);
    if (device == kernel_cpu_device()) {
        KernelResult packed;
        const KernelMode mode = {.threads = 1, .packed = 2, .in_place = -1};
        assert_ok(kernel_call_run(device, &call, mode, &packed));
        kernel_check_close(&packed, 0, expected, tolerance);
        (void)kernel_call_check_packed(device, &call, 2, &packed);
        kernel_result_deinit(&packed);
    }
    kernel_result_deinit(&result);
    free(expected);
    free(x);
    free(w);
    free(bias);
}

static void test_conv_agrees_with_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_conv(&cases[i], kernel_cpu_device(), 2e-5);
}

static void test_conv_is_the_same_with_portable_kernels(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_conv(&cases[i], kernel_portable_device(), 2e-5);
}

static void test_conv_pads_to_the_same_size(void **state) {
    (void)state;
    static const ConvCase upper = {1, 1, 2, 3, 2, {7, 8}, {2, 4}, {2, 1}, {1, 1}, {0, 1}, {1, 2}};
    static const ConvCase lower = {1, 1, 2, 3, 2, {7, 8}, {2, 4}, {2, 1}, {1, 1}, {1, 2}, {0, 1}};
    float *x = kernel_random_floats(1, 2 * 7 * 8), *w = kernel_random_floats(2, 3 * 2 * 2 * 4);
    for (int i = 0; i < 2; i++) {
        const ConvCase *conv = i ? &lower : &upper;
        const KernelCall call = {
            .name = "Conv",
            .attributes = i ? "{auto_pad=\"SAME_LOWER\", strides=[2, 1]}"
                            : "{auto_pad=\"SAME_UPPER\", strides=[2, 1]}",
            .input_count = 2,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT32, conv_reference_input(conv), x},
                {DTYPE_FLOAT32, conv_reference_weights(conv), w}},
        };
        double *expected = conv_reference(conv, x, w);
        KernelResult result;
        kernel_call_check_bits(kernel_cpu_device(), &call, &result);
        kernel_check_close(&result, 0, expected, 2e-5);
        kernel_result_deinit(&result);
        free(expected);
    }
    free(x);
    free(w);
}

static void test_fused_conv_adds_the_residual_before_its_activation(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ConvCase *conv = &cases[i];
        const Shape x_shape = conv_reference_input(conv), w_shape = conv_reference_weights(conv);
        const Shape y_shape = conv_reference_output(conv);
        const int64_t count = shape_count_unchecked(&y_shape);
        float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
        float *w = kernel_random_floats(2, shape_count_unchecked(&w_shape));
        float *residual = kernel_random_floats(3, count);
        char attributes[256];
        conv_reference_attributes(conv, "activation=\"relu\", ", attributes, sizeof attributes);
        const KernelCall call = {
            .name = "FusedConv",
            .attributes = attributes,
            .input_count = 4,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT32, x_shape, x}, {DTYPE_FLOAT32, w_shape, w}, {0},
                {DTYPE_FLOAT32, y_shape, residual}},
        };
        double *expected = conv_reference(conv, x, w);
        for (int64_t j = 0; j < count; j++) {
            expected[j] += (double)residual[j];
            if (expected[j] < 0) expected[j] = 0;
        }
        KernelResult result, in_place;
        kernel_call_check_bits(kernel_cpu_device(), &call, &result);
        kernel_check_close(&result, 0, expected, 2e-5);
        const KernelMode over_residual = {.threads = 2, .in_place = 3};
        assert_ok(kernel_call_run(kernel_cpu_device(), &call, over_residual, &in_place));
        assert_true(in_place.was_in_place);
        kernel_result_deinit(&in_place);
        kernel_result_deinit(&result);
        free(expected);
        free(x);
        free(w);
        free(residual);
    }
}

static void test_conv_of_bfloat16_rounds_once(void **state) {
    (void)state;
    uint16_t x[2 * 5 * 5], w[3 * 2 * 3 * 3];
    float x_wide[2 * 5 * 5], w_wide[3 * 2 * 3 * 3];
    for (int i = 0; i < 2 * 5 * 5; i++) x_wide[i] = (float)(i % 3), x[i] = 0;
    for (int i = 0; i < 3 * 2 * 3 * 3; i++) w_wide[i] = (float)(i % 2), w[i] = 0;
    for (int i = 0; i < 2 * 5 * 5; i++) x[i] = (uint16_t)(i % 3 ? 0x3f00 + 0x80 * (i % 3) : 0);
    for (int i = 0; i < 3 * 2 * 3 * 3; i++) w[i] = (uint16_t)(i % 2 ? 0x3f80 : 0);
    static const ConvCase conv = {1, 1, 2, 3, 2, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    const KernelCall call = {.name = "Conv",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_BFLOAT16, conv_reference_input(&conv), x},
            {DTYPE_BFLOAT16, conv_reference_weights(&conv), w}}};
    double *expected = conv_reference(&conv, x_wide, w_wide);
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 0);
    kernel_result_deinit(&result);
    free(expected);
}

int test_cpu_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_agrees_with_the_definition),
        cmocka_unit_test(test_conv_is_the_same_with_portable_kernels),
        cmocka_unit_test(test_conv_pads_to_the_same_size),
        cmocka_unit_test(test_fused_conv_adds_the_residual_before_its_activation),
        cmocka_unit_test(test_conv_of_bfloat16_rounds_once),
    };
    return cmocka_run_group_tests_name("cpu_conv", tests, NULL, NULL);
}
