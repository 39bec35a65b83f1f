#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

enum { COUNT = 20000 };

static Tensor *run(const char *name, const char *attributes, uint64_t key, uint64_t counter) {
    Tensor *out = NULL;
    DeviceCall call = {.operator_name = name,
        .attributes = attributes,
        .philox_key = key,
        .philox_counter = counter};
    everywhere_run(&call, &out);
    return out;
}

static void check_moments(Tensor *owned_tensor, double mean, double deviation) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        double x = device_tensor_get(owned_tensor, i);
        sum += x;
        squares += x * x;
    }
    double average = sum / COUNT;
    assert_true(fabs(average - mean) < 5 * deviation / sqrt(COUNT));
    assert_true(fabs(sqrt(squares / COUNT - average * average) / deviation - 1) < 0.02);
    tensor_release(owned_tensor);
}

static void test_numbers_have_the_right_mean_and_spread(void **state) {
    (void)state;
    check_moments(
        run("RandomUniform", "{shape=[100, 200], low=-1.0, high=3.0}", 1, 2), 1, 4 / sqrt(12));
    check_moments(run("RandomNormal", "{shape=[20000], mean=2.0, scale=0.5}", 1, 2), 2, 0.5);
    check_moments(run("RandomNormal", "{shape=[20000], dtype=float64}", 9, 0), 0, 1);
    check_moments(run("RandomUniform", "{shape=[20000], dtype=float16}", 9, 0), 0.5, 1 / sqrt(12));
}

/* Element i of a call is element i - n of the call that starts n elements later. */
static void test_the_counter_says_where_in_the_stream_a_call_starts(void **state) {
    (void)state;
    Tensor *a = run("RandomUniform", "{shape=[100]}", 5, 0);
    Tensor *b = run("RandomUniform", "{shape=[50]}", 5, 2 * 30);
    for (int64_t i = 0; i < 50; i++)
        assert_true(device_tensor_get(a, i + 30) == device_tensor_get(b, i));
    tensor_release(a);
    tensor_release(b);
}

static void test_a_seed_replaces_the_key_and_leaves_the_counter(void **state) {
    (void)state;
    const char *attributes = "{shape=[64], seed=4.5}";
    Tensor *a = run("RandomNormal", attributes, 1, 1000),
           *b = run("RandomNormal", attributes, 2, 0);
    assert_true(device_tensor_hash(a) == device_tensor_hash(b));
    tensor_release(a);
    tensor_release(b);
    DeviceCall call = {
        .device = everywhere_cpu(), .operator_name = "RandomNormal", .attributes = attributes};
    Plan *plan = NULL;
    assert_ok(device_call_plan(&call, &plan));
    assert_true(plan->philox_draws == 0);
    plan_release(plan);
    call.attributes = "{shape=[64]}";
    assert_ok(device_call_plan(&call, &plan));
    assert_true(plan->philox_draws == 128);
    plan_release(plan);
}

int test_cpu_random(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_have_the_right_mean_and_spread),
        cmocka_unit_test(test_the_counter_says_where_in_the_stream_a_call_starts),
        cmocka_unit_test(test_a_seed_replaces_the_key_and_leaves_the_counter),
    };
    return cmocka_run_group_tests_name("cpu_random", tests, NULL, NULL);
}
