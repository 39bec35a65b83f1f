#include <stdio.h>
#include <math.h>

#include "kernels/registry/device_registry.h"
#include "tests/conformance/conformance.h"
#include "tests/support/cuda_shim.h"
#include "tests/support/test_support.h"

/* Random numbers depend on the key, the counter and the position, and on nothing else. */

static Device *devices[3];

static int open_devices(void **state) {
    (void)state;
    assert_ok(device_open("cpu:threads=8", &devices[0]));
    assert_ok(device_open("sim:0", &devices[1]));
    assert_ok(cuda_shim_open("shim", &devices[2]));
    return 0;
}

static int close_devices(void **state) {
    (void)state;
    device_close(devices[0]);
    device_close(devices[1]);
    device_close(devices[2]);
    return 0;
}

static Tensor *draw(const char *name, const char *attributes, const DeviceCall *how) {
    DeviceCall call = *how;
    Tensor *output = NULL;
    call.operator_name = name;
    call.attributes = attributes;
    if (!call.device) call.device = devices[0];
    assert_ok(device_call_run(&call, &output, NULL));
    return output;
}

static uint64_t draw_hash(const char *name, const char *attributes, DeviceCall how) {
    OWN(Tensor, tensor) = draw(name, attributes, &how);
    return device_tensor_hash(tensor);
}

static const char *const names[] = {"RandomUniform", "RandomNormal"};
static const char *const dtypes[] = {"float32", "float64", "float16", "bfloat16"};

static void test_random_bits_depend_on_key_and_counter_alone(void **state) {
    (void)state;
    for (size_t n = 0; n < 2; n++)
        for (size_t d = 0; d < 4; d++) {
            char text[64];
            (void)snprintf(text, sizeof text, "{shape=[3, 7001], dtype=%s}", dtypes[d]);
            uint64_t plain = draw_hash(names[n], text, (DeviceCall){.philox_key = 5});
            assert_true(
                plain == draw_hash(names[n], text, (DeviceCall){.philox_key = 5, .threads = 8}));
            assert_true(plain == draw_hash(names[n], text,
                                     (DeviceCall){.philox_key = 5, .offset_elements = 3}));
            assert_true(plain == draw_hash(names[n], text,
                                     (DeviceCall){.philox_key = 5, .device = devices[1]}));
            assert_true(plain == draw_hash(names[n], text,
                                     (DeviceCall){.philox_key = 5, .device = devices[2]}));
            assert_true(plain != draw_hash(names[n], text, (DeviceCall){.philox_key = 6}));
            assert_true(plain != draw_hash(names[n], text,
                                     (DeviceCall){.philox_key = 5, .philox_counter = 2}));
        }
}

/* With a seed the execution's key and counter are not looked at. */
static void test_random_with_a_seed_is_of_that_seed_alone(void **state) {
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        uint64_t one = draw_hash(names[n], "{shape=[50], seed=1.0}", (DeviceCall){.philox_key = 5});
        assert_true(one == draw_hash(names[n], "{shape=[50], seed=1.0}",
                               (DeviceCall){.philox_key = 9, .philox_counter = 77}));
        assert_true(one != draw_hash(names[n], "{shape=[50], seed=2.0}", (DeviceCall){0}));
    }
}

/* Two calls in a row never share draws: the plan says how far the counter moves. */
static void test_random_plans_say_how_many_draws_they_take(void **state) {
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        OWN(Plan, plan) = NULL;
        OWN(Plan, seeded) = NULL;
        DeviceCall call = {
            .device = devices[1], .operator_name = names[n], .attributes = "{shape=[10, 10]}"};
        assert_ok(device_call_plan(&call, &plan));
        assert_true(plan->philox_draws >= 100);
        call.attributes = "{shape=[10, 10], seed=1.0}";
        assert_ok(device_call_plan(&call, &seeded));
        assert_int_equal(seeded->philox_draws, 0);
    }
}

static void moments(const Tensor *tensor, double *out_mean, double *out_deviation) {
    double sum = 0, square = 0;
    int64_t count = shape_count_unchecked(&tensor->shape);
    for (int64_t i = 0; i < count; i++) sum += device_tensor_get(tensor, i);
    *out_mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        double x = device_tensor_get(tensor, i) - *out_mean;
        square += x * x;
    }
    *out_deviation = sqrt(square / (double)count);
}

static void test_random_numbers_are_distributed_as_they_should_be(void **state) {
    (void)state;
    double mean, deviation;
    OWN(Tensor, uniform) =
        draw("RandomUniform", "{shape=[100000], low=2.0, high=4.0}", &(DeviceCall){0});
    moments(uniform, &mean, &deviation);
    assert_true(fabs(mean - 3) < 0.01 && fabs(deviation - 2 / sqrt(12)) < 0.01);
    for (int64_t i = 0; i < 100000; i++) {
        double x = device_tensor_get(uniform, i);
        assert_true(x >= 2 && x <= 4);
    }
    OWN(Tensor, normal) =
        draw("RandomNormal", "{shape=[100000], mean=-1.0, scale=3.0}", &(DeviceCall){0});
    moments(normal, &mean, &deviation);
    assert_true(fabs(mean + 1) < 0.05 && fabs(deviation - 3) < 0.05);
}

int test_random_numbers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_bits_depend_on_key_and_counter_alone),
        cmocka_unit_test(test_random_with_a_seed_is_of_that_seed_alone),
        cmocka_unit_test(test_random_plans_say_how_many_draws_they_take),
        cmocka_unit_test(test_random_numbers_are_distributed_as_they_should_be),
    };
    return cmocka_run_group_tests_name("random_numbers", tests, open_devices, close_devices);
}
