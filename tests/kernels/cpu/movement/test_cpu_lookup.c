#include "tests/kernels/fixtures/everywhere.h"
#include "tests/kernels/fixtures/string_fixture.h"

#include <math.h>

enum { COUNT = 100000 };

/* As many elements as several threads share, half of them among 100,000 keys. */
static void test_each_element_has_the_place_of_its_key(void **state) {
    (void)state;
    static double values[COUNT], keys[COUNT], expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        keys[i] = 2.0 * i;
        values[i] = (int)((i * 7919LL) % COUNT);
        expected[i] = (long long)values[i] % 2 ? COUNT : values[i] / 2;
    }
    DeviceCall call = {.operator_name = "Lookup", .attributes = "{}", .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_INT64, values, 2, COUNT / 2, 2);
    call.inputs[1] = device_tensor(DTYPE_INT64, keys, 1, COUNT);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_a_nan_is_the_last_key(void **state) {
    (void)state;
    const double nan = (double)NAN;
    DeviceCall call = {.operator_name = "Lookup", .attributes = "{}", .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, (double[]){nan, 5, 1, 9, 0}, 1, 5);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, (double[]){1, 5, nan}, 1, 3);
    everywhere_check(&call, (double[]){2, 1, 0, 3, 3}, 0);
    everywhere_release(&call);
}

static void test_texts_are_found_by_their_bytes(void **state) {
    (void)state;
    StringCall call = {.operator_name = "Lookup", .input_count = 2, .output_count = 1};
    call.inputs[0] = string_fixture_tensor("b||\xc3\xa4|a|ab|z", 1, (int64_t[]){6});
    call.inputs[1] = string_fixture_tensor("|a|ab|b|\xc3\xa4", 1, (int64_t[]){5});
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[6] 3|0|4|1|2|5");
    string_call_deinit(&call);
}

static void test_without_keys_nothing_is_found(void **state) {
    (void)state;
    StringCall call = {.operator_name = "Lookup", .input_count = 2, .output_count = 1};
    call.inputs[0] = string_fixture_tensor("b|", 1, (int64_t[]){2});
    call.inputs[1] = string_fixture_tensor("", 1, (int64_t[]){0});
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[2] 0|0");
    string_call_deinit(&call);
}

int test_cpu_lookup(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_element_has_the_place_of_its_key),
        cmocka_unit_test(test_a_nan_is_the_last_key),
        cmocka_unit_test(test_texts_are_found_by_their_bytes),
        cmocka_unit_test(test_without_keys_nothing_is_found),
    };
    return cmocka_run_group_tests_name("cpu_lookup", tests, NULL, NULL);
}
