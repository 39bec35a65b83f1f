#include <stdlib.h>

#include "tests/kernels/fixtures/conv_reference.h"

/* The case is that of the convolution this one is the transpose of: `input` is the larger side. */
static double *naive(
    const ConvCase *conv, const Shape *x_shape, const float *x, const float *w, const float *bias) {
    const Shape y_shape = conv_reference_input(conv);
    const int64_t pixels = shape_product(x_shape, 2, x_shape->rank);
    const int64_t outputs = shape_product(&y_shape, 2, y_shape.rank);
    int64_t positions = 1;
    for (uint32_t i = 0; i < conv->rank; i++) positions *= conv->kernel[i];
    double *y = calloc((size_t)shape_count_unchecked(&y_shape) + 1, sizeof(double));
    assert_non_null(y);
    for (int64_t i = 0; i < shape_count_unchecked(&y_shape); i++)
        y[i] = (double)bias[i / outputs % y_shape.dims[1]];
    for (int64_t i = 0; i < shape_count_unchecked(x_shape); i++) {
        const int64_t channel = i / pixels % x_shape->dims[1];
        const int64_t image = i / pixels / x_shape->dims[1], group = channel / conv->filters;
        for (int64_t m = 0; m < conv->channels * positions; m++) {
            int64_t rest = m % positions, place = i % pixels, offset = 0, step = 1;
            bool inside = true;
            for (uint32_t d = conv->rank; d-- > 0;) {
                const int64_t at = place % x_shape->dims[d + 2] * conv->stride[d] - conv->begin[d] +
                                   rest % conv->kernel[d] * conv->dilation[d];
                inside = inside && at >= 0 && at < conv->input[d];
                offset += at * step;
                step *= conv->input[d];
                place /= x_shape->dims[d + 2];
                rest /= conv->kernel[d];
            }
            if (!inside) continue;
            const int64_t plane = (image * conv->groups + group) * conv->channels + m / positions;
            y[plane * outputs + offset] +=
                (double)x[i] * (double)w[channel * conv->channels * positions + m];
        }
    }
    return y;
}

static void check_transpose(const ConvCase *conv, Device *device) {
    const Shape x_shape = conv_reference_output(conv), w_shape = conv_reference_weights(conv);
    const Shape y_shape = conv_reference_input(conv);
    char attributes[256];
    conv_reference_attributes(conv, "", attributes, sizeof attributes);
    float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
    float *w = kernel_random_floats(2, shape_count_unchecked(&w_shape));
    float *bias = kernel_random_floats(3, y_shape.dims[1]);
    const KernelCall call = {.name = "ConvTranspose",
        .attributes = attributes,
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, x_shape, x}, {DTYPE_FLOAT32, w_shape, w},
            {DTYPE_FLOAT32, {1, {y_shape.dims[1]}}, bias}}};
    double *expected = naive(conv, &x_shape, x, w, bias);
    KernelResult result;
    kernel_call_check_bits(device, &call, &result);
    assert_true(shape_equal(&result.shapes[0], &y_shape));
    kernel_check_close(&result, 0, expected, 1e-5);
    kernel_result_deinit(&result);
    free(expected);
    free(x);
    free(w);
    free(bias);
}

static void test_conv_transpose_agrees_with_the_definition(void **state) {
    (void)state;
    static const ConvCase cases[] = {
        {1, 1, 3, 4, 2, {9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
        {2, 1, 5, 6, 2, {8, 7}, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 2, 3, 4, 2, {13, 10}, {3, 2}, {2, 2}, {2, 2}, {1, 0}, {1, 1}},
        {1, 1, 2, 3, 1, {20}, {4}, {3}, {1}, {1}, {1}},
        {1, 1, 2, 2, 3, {5, 7, 4}, {3, 3, 2}, {2, 2, 2}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}},
        /* one pixel, rows that are summed side by side, rows that are too long for it */
        {2, 2, 20, 30, 2, {4, 4}, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
        {1, 1, 3, 4, 2, {16, 66}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
        {1, 1, 2, 2, 1, {1200}, {4}, {2}, {1}, {1}, {1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_transpose(&cases[i], kernel_cpu_device());
        check_transpose(&cases[i], kernel_portable_device());
    }
}

int test_cpu_conv_transpose(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_transpose_agrees_with_the_definition),
    };
    return cmocka_run_group_tests_name("cpu_conv_transpose", tests, NULL, NULL);
}
