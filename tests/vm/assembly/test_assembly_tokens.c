#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly_tokens.h"
#include "base/allocator.h"

static void test_tokens_of_every_kind(void **state) {
    (void)state;
    Tokens tokens;
    assert_ok(tokens_start("ab_1.c -12 0x1.8p+3 \"s t\" x\"0a\" -> => @ # rest\n)", 7, &tokens));
    const TokenKind kinds[] = {TOKEN_WORD, TOKEN_NUMBER, TOKEN_NUMBER, TOKEN_STRING, TOKEN_HEX,
        TOKEN_MARK, TOKEN_MARK, TOKEN_MARK, TOKEN_NEWLINE, TOKEN_MARK, TOKEN_END};
    const size_t sizes[] = {6, 3, 8, 5, 5, 2, 2, 1, 1, 1, 0};
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_int_equal(tokens.token.kind, kinds[i]);
        assert_int_equal(tokens.token.size, sizes[i]);
        assert_int_equal(tokens.token.line, i < 9 ? 7 : 8);
        assert_ok(tokens_next(&tokens));
    }
    assert_int_equal(tokens.token.kind, TOKEN_END);
}

static void test_tokens_expect_says_what_stands_instead(void **state) {
    (void)state;
    Tokens tokens;
    assert_ok(tokens_start("word", 1, &tokens));
    assert_fails_saying(
        INVALID, "line 1: '(' is missing before 'word'", tokens_expect(&tokens, "("));
    int64_t number;
    assert_fails_saying(INVALID, "a number is missing", tokens_read_i64(&tokens, &number));
    assert_ok(tokens_expect(&tokens, "word"));
    assert_fails_saying(INVALID, "before the end", tokens_expect(&tokens, "("));
}

static void test_tokens_refuse_stray_characters_and_open_strings(void **state) {
    (void)state;
    Tokens tokens;
    assert_fails_saying(INVALID, "0x3b", tokens_start(";", 1, &tokens));
    assert_fails_saying(INVALID, "a string without end", tokens_start("\"abc\n\"", 1, &tokens));
    assert_fails_saying(INVALID, "a string without end", tokens_start("\"abc\\", 1, &tokens));
}

static void test_tokens_strings_and_names(void **state) {
    (void)state;
    Tokens tokens;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(tokens_start("\"a\\\"\\\\\\n\\x41\" name 5", 1, &tokens));
    assert_ok(tokens_read_name(&tokens, &text));
    assert_string_equal(text_builder_get(&text), "a\"\\\nA");
    assert_ok(tokens_read_name(&tokens, &text));
    assert_fails(INVALID, tokens_read_name(&tokens, &text));
}

int test_assembly_tokens(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_of_every_kind),
        cmocka_unit_test(test_tokens_expect_says_what_stands_instead),
        cmocka_unit_test(test_tokens_refuse_stray_characters_and_open_strings),
        cmocka_unit_test(test_tokens_strings_and_names),
    };
    return cmocka_run_group_tests_name("assembly_tokens", tests, NULL, NULL);
}
