#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, const double *x, int length, int parts,
    int64_t wanted, const double *expected) {
    const double given = (double)wanted;
    DeviceCall call = {.operator_name = "DFT", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, x, 3, 1, length, parts);
    if (wanted) call.inputs[1] = device_tensor(DTYPE_INT64, &given, 0);
    if (wanted) call.input_count = 2;
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

static void test_a_spectrum_there_and_back(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    static const double x[4] = {1, 2, 3, 4}, half[6] = {10, 0, -2, 2, -2, 0};
    static const double all[8] = {10, 0, -2, 2, -2, 0, -2, -2};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        check(NULL, dtypes[i], x, 4, 1, 0, all);
        check("{onesided=1}", dtypes[i], x, 4, 1, 0, half);
        check("{inverse=1}", dtypes[i], all, 4, 2, 0, (double[]){1, 0, 2, 0, 3, 0, 4, 0});
        check("{inverse=1, onesided=1}", dtypes[i], half, 3, 2, 0, x);
        check("{inverse=1}", dtypes[i], x, 1, 1, 0, (double[]){1, 0});
    }
}

static void test_a_length_cuts_off_or_adds_zeros(void **state) {
    static const double x[4] = {1, 2, 3, 4};
    (void)state;
    check(NULL, DTYPE_FLOAT32, x, 4, 1, 2, (double[]){3, 0, -1, 0});
    check(NULL, DTYPE_FLOAT64, x, 2, 1, 4, (double[]){3, 0, 1, -2, -1, 0, 1, 2});
    /* a spectrum that is cut: of 3 numbers 2 belong to a signal of 2 */
    check("{inverse=1, onesided=1}", DTYPE_FLOAT32, (double[]){10, 0, -2, 2, -2, 0}, 3, 2, 2,
        (double[]){4, 6});
}

/* Beyond a megabyte the launch makes the tables. */
static void test_large_tables_are_made_by_the_launch(void **state) {
    const Shape shape = {3, {2, 1, 1}};
    const double length = 70001;
    (void)state;
    DeviceCall call = {.operator_name = "DFT", .input_count = 2};
    Tensor *out = NULL;
    Plan *plan;
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &shape, 1, 2, 1);
    call.inputs[1] = device_tensor(DTYPE_INT64, &length, 0);
    call.device = everywhere_cpu();
    assert_ok(device_call_plan(&call, &plan));
    assert_true(plan->workspace_bytes > 1 << 20);
    plan_release(plan);
    everywhere_run(&call, &out);
    for (int64_t i = 0; i < 2 * 70001; i++) { /* an impulse has a flat spectrum */
        const double wanted = device_tensor_get(call.inputs[0], i / 70001);
        assert_true(fabs(device_tensor_get(out, 2 * i) - wanted) < 1e-6);
        assert_true(fabs(device_tensor_get(out, 2 * i + 1)) < 1e-6);
    }
    tensor_release(out);
    everywhere_release(&call);
}

static void test_frames_slide_over_a_signal(void **state) {
    static const double x[6] = {1, 2, 3, 4, 5, 6}, step = 2, window[2] = {1, 0.5};
    (void)state;
    DeviceCall call = {.operator_name = "STFT", .input_count = 3};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 3, 1, 6, 1);
    call.inputs[1] = device_tensor(DTYPE_INT32, &step, 0);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, window, 1, 2);
    everywhere_check(&call, (double[]){2, 0, 0, 0, 5, 0, 1, 0, 8, 0, 2, 0}, 1e-6);
    everywhere_release(&call);
}

int test_cpu_dft(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_spectrum_there_and_back),
        cmocka_unit_test(test_a_length_cuts_off_or_adds_zeros),
        cmocka_unit_test(test_large_tables_are_made_by_the_launch),
        cmocka_unit_test(test_frames_slide_over_a_signal),
    };
    return cmocka_run_group_tests_name("cpu_dft", tests, NULL, NULL);
}
