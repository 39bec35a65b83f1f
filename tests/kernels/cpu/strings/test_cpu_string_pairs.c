#include "tests/kernels/fixtures/string_fixture.h"

static void test_pairs_are_broadcast(void **state) {
    (void)state;
    StringCall call = {.operator_name = "StringConcat", .input_count = 2, .output_count = 1};
    call.inputs[0] = string_fixture_tensor("a|", 2, (int64_t[]){2, 1});
    call.inputs[1] = string_fixture_tensor("x||\xc3\xa4", 1, (int64_t[]){3});
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[2, 3] ax|a|a\xc3\xa4|x||\xc3\xa4");
    call.operator_name = "Equal";
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[2, 3] 0|0|0|0|1|0");
    string_call_deinit(&call);
}

static void test_pairs_of_nothing_are_nothing(void **state) {
    (void)state;
    StringCall call = {.operator_name = "StringConcat", .input_count = 2, .output_count = 1};
    call.inputs[0] = string_fixture_tensor("", 1, (int64_t[]){0});
    call.inputs[1] = string_fixture_tensor("x", 1, (int64_t[]){1});
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[0]");
    string_call_deinit(&call);
}

int test_cpu_string_pairs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_broadcast),
        cmocka_unit_test(test_pairs_of_nothing_are_nothing),
    };
    return cmocka_run_group_tests_name("cpu_string_pairs", tests, NULL, NULL);
}
