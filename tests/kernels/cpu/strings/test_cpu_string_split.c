#include "tests/kernels/fixtures/string_fixture.h"

static void check(const char *attributes, const char *texts, int64_t count, const char *pieces,
    const char *counts) {
    StringCall call = {.operator_name = "StringSplit",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 2};
    call.inputs[0] = string_fixture_tensor(texts, 1, &count);
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], pieces);
    string_fixture_expect(call.outputs[1], counts);
    string_call_deinit(&call);
}

static void test_splits_at_a_delimiter_or_at_white_space(void **state) {
    (void)state;
    check("{delimiter=\".\"}", "a.b|c||.", 4, "[4, 2] a|b|c|||||", "[4] 2|1|1|2");
    check("{delimiter=\"--\"}", "a--b---c", 1, "[1, 3] a|b|-c", "[1] 3");
    check("{delimiter=\".\", maxsplit=1}", "a.b.c", 1, "[1, 2] a|b.c", "[1] 2");
    check("{delimiter=\".\", maxsplit=0}", "a.b", 1, "[1, 1] a.b", "[1] 1");
    check(NULL, "  a  b\t|\xe3\x80\x80|c", 3, "[3, 2] a|b|||c|", "[3] 2|0|1");
    check("{delimiter=\"\", maxsplit=1}", " a  b c ", 1, "[1, 2] a|b c ", "[1] 2");
    check(NULL, "", 0, "[0, 0]", "[0]");
}

int test_cpu_string_split(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits_at_a_delimiter_or_at_white_space),
    };
    return cmocka_run_group_tests_name("cpu_string_split", tests, NULL, NULL);
}
