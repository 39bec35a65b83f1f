#include "tests/kernels/fixtures/string_fixture.h"

static void test_full_match_asks_each_element(void **state) {
    (void)state;
    StringCall call = {.operator_name = "RegexFullMatch",
        .attributes = "{pattern=\"[a-z]+[.][0-9]\"}",
        .input_count = 1,
        .output_count = 1};
    call.inputs[0] = string_fixture_tensor("abc.1|abc.12||x.9", 2, (int64_t[]){2, 2});
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[2, 2] 1|0|0|1");
    string_call_deinit(&call);
}

int test_cpu_regex_full_match(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_match_asks_each_element),
    };
    return cmocka_run_group_tests_name("cpu_regex_full_match", tests, NULL, NULL);
}
