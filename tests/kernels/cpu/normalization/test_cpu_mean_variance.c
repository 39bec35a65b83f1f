#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, Tensor *owned_input, const double *expected) {
    DeviceCall call = {
        .operator_name = "MeanVarianceNormalization", .attributes = attributes, .input_count = 1};
    call.inputs[0] = owned_input;
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

static void test_elements_are_brought_to_mean_0_and_variance_1(void **state) {
    static const double x[4] = {1, 10, 3, 30};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        check("{axes=[0]}", device_tensor(dtypes[i], x, 2, 2, 2), (double[]){-1, -1, 1, 1});
        check("{axes=[-1]}", device_tensor(dtypes[i], x, 2, 2, 2), (double[]){-1, 1, -1, 1});
    }
}

/* What does not differ is 0, however small the deviation that divides it. */
static void test_equal_elements_become_0(void **state) {
    static const double x[6] = {7, 7, 7, 7, 7, 7};
    (void)state;
    check("{axes=[0, 1]}", device_tensor(DTYPE_FLOAT32, x, 2, 2, 3), (double[6]){0});
}

static void test_channels_are_kept_by_default(void **state) {
    enum { CHANNELS = 3, PIXELS = 40, COUNT = 2 * CHANNELS * PIXELS };
    static double x[COUNT], y[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) x[i] = i % 17 * 0.5 + i / PIXELS % CHANNELS;
    for (int channel = 0; channel < CHANNELS; channel++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < COUNT; i++)
            if (i / PIXELS % CHANNELS == channel) sum += x[i] / (2 * PIXELS);
        for (int i = 0; i < COUNT; i++)
            if (i / PIXELS % CHANNELS == channel)
                squares += (x[i] - sum) * (x[i] - sum) / (2 * PIXELS);
        for (int i = 0; i < COUNT; i++)
            if (i / PIXELS % CHANNELS == channel) y[i] = (x[i] - sum) / (sqrt(squares) + 1e-9);
    }
    check(NULL, device_tensor(DTYPE_FLOAT32, x, 4, 2, CHANNELS, 5, 8), y);
}

int test_cpu_mean_variance(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_brought_to_mean_0_and_variance_1),
        cmocka_unit_test(test_equal_elements_become_0),
        cmocka_unit_test(test_channels_are_kept_by_default),
    };
    return cmocka_run_group_tests_name("cpu_mean_variance", tests, NULL, NULL);
}
