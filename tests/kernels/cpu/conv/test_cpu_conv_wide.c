#include <stdlib.h>

#include "tests/kernels/fixtures/conv_reference.h"

static double *widen(const float *values, int64_t count) {
    double *wide = malloc((size_t)count * sizeof(double) + 8);
    assert_non_null(wide);
    for (int64_t i = 0; i < count; i++) wide[i] = (double)values[i];
    return wide;
}

static void test_conv_of_doubles_agrees_with_the_definition(void **state) {
    (void)state;
    static const ConvCase cases[] = {
        {2, 1, 5, 7, 2, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {1, 4, 2, 3, 2, {12, 9}, {3, 2}, {1, 2}, {2, 1}, {2, 1}, {0, 3}},
        {1, 1, 1, 2, 1, {700}, {4}, {1}, {2}, {3}, {1}},
        {1, 2, 3, 4, 3, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}, {0, 1, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const Shape x_shape = conv_reference_input(&cases[i]);
        const Shape w_shape = conv_reference_weights(&cases[i]);
        float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
        float *w = kernel_random_floats(2, shape_count_unchecked(&w_shape));
        double *x_wide = widen(x, shape_count_unchecked(&x_shape));
        double *w_wide = widen(w, shape_count_unchecked(&w_shape));
        char attributes[256];
        conv_reference_attributes(&cases[i], "", attributes, sizeof attributes);
        const KernelCall call = {.name = "Conv",
            .attributes = attributes,
            .input_count = 2,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT64, x_shape, x_wide}, {DTYPE_FLOAT64, w_shape, w_wide}}};
        double *expected = conv_reference(&cases[i], x, w);
        KernelResult result;
        kernel_call_check_bits(kernel_cpu_device(), &call, &result);
        kernel_check_close(&result, 0, expected, 1e-14);
        kernel_result_deinit(&result);
        free(expected), free(x), free(w), free(x_wide), free(w_wide);
    }
}

int test_cpu_conv_wide(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_of_doubles_agrees_with_the_definition),
    };
    return cmocka_run_group_tests_name("cpu_conv_wide", tests, NULL, NULL);
}
