#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

/* Classes come as often as their probabilities say. */
static void test_samples_follow_the_logits(void **state) {
    (void)state;
    const double logits[8] = {log(1), log(2), -INFINITY, log(5), 700, 0, -700, 0};
    double counts[4] = {0};
    DeviceCall call = {
        .operator_name = "Multinomial", .attributes = "{sample_size=20000}", .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_FLOAT64, logits, 2, 2, 4);
    Tensor *out = NULL;
    everywhere_run(&call, &out);
    for (int64_t i = 0; i < 20000; i++) counts[(int)device_tensor_get(out, i)]++;
    for (int64_t i = 20000; i < 40000; i++) assert_true(device_tensor_get(out, i) == 0);
    assert_float_equal(counts[0] / 20000, 0.125, 0.01);
    assert_float_equal(counts[1] / 20000, 0.25, 0.01);
    assert_true(counts[2] == 0);
    assert_float_equal(counts[3] / 20000, 0.625, 0.01);
    tensor_release(out);
    everywhere_release(&call);
}

static void test_a_seed_alone_decides(void **state) {
    (void)state;
    const Shape shape = {2, {3, 9}};
    DeviceCall call = {.device = everywhere_cpu(),
        .operator_name = "Multinomial",
        .attributes = "{sample_size=50, seed=3.0}",
        .input_count = 1};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &shape, -1, 1, 1);
    Tensor *one = NULL, *other = NULL;
    OWN(Plan, plan) = NULL;
    assert_ok(device_call_run(&call, &one, NULL));
    assert_ok(device_call_plan(&call, &plan));
    assert_int_equal(plan->philox_draws, 0);
    call.philox_counter = 17;
    assert_ok(device_call_run(&call, &other, NULL));
    assert_int_equal(device_tensor_hash(one), device_tensor_hash(other));
    tensor_release(one), tensor_release(other);
    everywhere_release(&call);
}

static void test_rows_without_a_distribution_are_refused(void **state) {
    (void)state;
    const double rows[3][2] = {{-INFINITY, -INFINITY}, {NAN, 0}, {INFINITY, 0}};
    for (size_t i = 0; i < 3; i++) {
        DeviceCall call = {
            .device = everywhere_cpu(), .operator_name = "Multinomial", .input_count = 1};
        Tensor *out = NULL;
        call.inputs[0] = device_tensor(DTYPE_FLOAT32, rows[i], 2, 1, 2);
        assert_fails_saying(FAILED, "Multinomial: row 0 of the logits is no distribution",
            device_call_run(&call, &out, NULL));
        everywhere_release(&call);
    }
}

int test_cpu_multinomial(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_follow_the_logits),
        cmocka_unit_test(test_a_seed_alone_decides),
        cmocka_unit_test(test_rows_without_a_distribution_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_multinomial", tests, NULL, NULL);
}
