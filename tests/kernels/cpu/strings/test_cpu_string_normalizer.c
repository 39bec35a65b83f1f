#include "tests/kernels/fixtures/string_fixture.h"

static void check(const char *attributes, const char *texts, int64_t count, const char *expected) {
    StringCall call = {.operator_name = "StringNormalizer",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1};
    call.inputs[0] = string_fixture_tensor(texts, 1, &count);
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], expected);
    string_call_deinit(&call);
}

static void test_normalizer_drops_stop_words_and_changes_case(void **state) {
    (void)state;
    check("{stopwords=[\"B\"], is_case_sensitive=1}", "a|b|B", 3, "[2] a|b");
    check("{stopwords=[\"B\"]}", "a|b|B", 3, "[1] a");
    check("{stopwords=[\"\xc3\x84\"]}", "\xc3\xa4|a", 2, "[1] a");
    check("{case_change_action=\"UPPER\"}", "\xc3\xa4x|\xc3\xbf", 2, "[2] \xc3\x84X|\xc5\xb8");
    check("{case_change_action=\"LOWER\"}", "AbC", 1, "[1] abc");
    check("{stopwords=[\"a\", \"b\"]}", "a|b", 2, "[1] ");
    check(NULL, "", 0, "[1] ");
}

static void test_normalizer_takes_one_row(void **state) {
    (void)state;
    StringCall call = {.operator_name = "StringNormalizer",
        .attributes = "{stopwords=[\"b\"]}",
        .input_count = 1,
        .output_count = 1};
    call.inputs[0] = string_fixture_tensor("a|b|c", 2, (int64_t[]){1, 3});
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], "[1, 2] a|c");
    string_call_deinit(&call);
}

int test_cpu_string_normalizer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalizer_drops_stop_words_and_changes_case),
        cmocka_unit_test(test_normalizer_takes_one_row),
    };
    return cmocka_run_group_tests_name("cpu_string_normalizer", tests, NULL, NULL);
}
