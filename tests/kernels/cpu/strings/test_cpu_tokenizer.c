#include "tests/kernels/fixtures/string_fixture.h"

static void check(const char *attributes, const char *texts, int64_t count, const char *tokens) {
    StringCall call = {.operator_name = "Tokenizer",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1};
    call.inputs[0] = string_fixture_tensor(texts, 1, &count);
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], tokens);
    string_call_deinit(&call);
}

#define COMMON "mark=0, mincharnum=1, pad_value=\"#\", "

static void test_takes_characters(void **state) {
    (void)state;
    check("{" COMMON "separators=[\"\"]}", "ab|\xc3\xa4|", 3, "[3, 2] a|b|\xc3\xa4|#|#|#");
    check("{mark=1, mincharnum=1, pad_value=\"\", separators=[\"\"]}", "ab|c", 2,
        "[2, 4] \2|a|b|\3|\2|c|\3|");
    check("{mark=1, mincharnum=1, pad_value=\"\", separators=[\"\"]}", "|", 2, "[2, 0]");
}

static void test_takes_what_matches(void **state) {
    (void)state;
    check("{" COMMON "tokenexp=\"[a-z0-9_]+\"}", "a, bc!|(d_1)", 2, "[2, 2] a|bc|d_1|#");
    check("{mark=0, mincharnum=2, pad_value=\"\", tokenexp=\"[a-z]+\"}", "a bc def", 1,
        "[1, 2] bc|def");
    check("{" COMMON "tokenexp=\"a*\"}", "baac", 1, "[1, 1] aa");
    /* the longest match of those that begin first */
    check("{" COMMON "tokenexp=\"a|ab|bcd\"}", "abcd", 1, "[1, 1] ab");
    check("{" COMMON "tokenexp=\"a+?\"}", "aa", 1, "[1, 1] aa");
    check("{" COMMON "tokenexp=\"\\\\bb\"}", "ab b", 1, "[1, 1] b");
}

static void test_takes_what_lies_between_separators(void **state) {
    (void)state;
    check("{" COMMON "separators=[\" +\", \",\"]}", "a, b  c|,,d", 2, "[2, 3] a|b|c|d|#|#");
    check("{mark=0, mincharnum=2, pad_value=\"\", separators=[\" \"]}", "a bc def", 1,
        "[1, 2] bc|def");
    check("{" COMMON "separators=[\"x\"]}", "xx|", 2, "[2, 0]");
    check("{" COMMON "separators=[\"b*\"]}", "abc", 1, "[1, 0]");
    check("{" COMMON "separators=[\"x\"]}", "", 0, "[0, 0]");
}

int test_cpu_tokenizer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_characters),
        cmocka_unit_test(test_takes_what_matches),
        cmocka_unit_test(test_takes_what_lies_between_separators),
    };
    return cmocka_run_group_tests_name("cpu_tokenizer", tests, NULL, NULL);
}
