#include "compiler/ir/ir_tokens.h"
#include "tests/compiler/compiler_fixtures.h"

static void test_ir_tokens_splits_text_and_counts_lines(void **state) {
    (void)state;
    static const struct {
        IrTokenKind kind;
        const char *text;
        uint32_t line;
    } expected[] = {{IR_TOKEN_VARIABLE, "12", 1}, {IR_TOKEN_SIGN, "=", 1},
        {IR_TOKEN_WORD, "Add", 1}, {IR_TOKEN_SIGN, "(", 1}, {IR_TOKEN_NUMBER, "-0.5", 1},
        {IR_TOKEN_SIGN, ")", 1}, {IR_TOKEN_SIGN, "->", 3}, {IR_TOKEN_STRING, "a b", 3},
        {IR_TOKEN_FUNCTION, "f.1", 3}, {IR_TOKEN_END, "the end", 3}};
    IrTokens tokens;
    assert_ok(ir_tokens_open("%12 = Add(-0.5) ; comment\n\n-> \"a b\"@f.1", &tokens));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(tokens.kind, expected[i].kind);
        assert_string_equal(tokens.text, expected[i].text);
        assert_int_equal(tokens.line, expected[i].line);
        assert_ok(ir_tokens_next(&tokens));
    }
}

static void test_ir_tokens_refuses_what_does_not_end(void **state) {
    (void)state;
    IrTokens tokens;
    char longest[IR_TOKEN_SIZE_MAX + 8];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_fails_saying(INVALID, "too long", ir_tokens_open(longest, &tokens));
    assert_fails_saying(INVALID, "without end", ir_tokens_open("\"abc", &tokens));
}

int test_ir_tokens(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_tokens_splits_text_and_counts_lines),
        cmocka_unit_test(test_ir_tokens_refuses_what_does_not_end),
    };
    return cmocka_run_group_tests_name("ir_tokens", tests, NULL, NULL);
}
