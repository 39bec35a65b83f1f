#include <math.h>

#include "tests/kernels/fixtures/kernel_call.h"

static const float x[2] = {0.5f, -1.0f}, w[1] = {0.3f}, r[1] = {0.7f}, b[2] = {0.1f, 0.2f};

static void check(const char *attributes, const double *y, const double *last) {
    KernelCall call = {.name = "RNN",
        .attributes = attributes,
        .input_count = 4,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {2, 1, 1}}, x}, {DTYPE_FLOAT32, {3, {1, 1, 1}}, w},
            {DTYPE_FLOAT32, {3, {1, 1, 1}}, r}, {DTYPE_FLOAT32, {2, {1, 2}}, b}}};
    Device *devices[] = {kernel_cpu_device(), kernel_portable_device()};
    for (size_t i = 0; i < 2; i++) {
        KernelResult result;
        kernel_call_check_bits(devices[i], &call, &result);
        kernel_check_close(&result, 0, y, 1e-6);
        kernel_check_close(&result, 1, last, 1e-6);
        kernel_result_deinit(&result);
    }
}

static void test_rnn_runs_both_ways(void **state) {
    (void)state;
    const double first = tanh(0.3 * 0.5 + 0.3), second = tanh(0.3 * -1.0 + 0.7 * first + 0.3);
    check(NULL, (double[]){first, second}, &second);
    const double last = tanh(0.3 * -1.0 + 0.3), before = tanh(0.3 * 0.5 + 0.7 * last + 0.3);
    check("{direction=\"reverse\"}", (double[]){before, last}, &before);
}

static void test_rnn_clips_and_activates(void **state) {
    (void)state;
    check("{clip=0.25, activations=[\"Affine\"], activation_alpha=[2.0], activation_beta=[-1.0]}",
        (double[]){-0.5, -1.5}, &(double){-1.5});
}

int test_cpu_rnn(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rnn_runs_both_ways),
        cmocka_unit_test(test_rnn_clips_and_activates),
    };
    return cmocka_run_group_tests_name("cpu_rnn", tests, NULL, NULL);
}
