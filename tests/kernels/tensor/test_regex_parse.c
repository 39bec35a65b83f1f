#include <string.h>

#include "base/text.h"
#include "kernels/tensor/regex.h"
#include "tests/support/test_support.h"

static void test_regex_parse_refuses_what_is_no_pattern(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *says;
    } rows[] = {
        {"*a", "a repetition of nothing"},
        {"a|+", "a repetition of nothing"},
        {"a**", "a repetition of a repetition"},
        {"a{2}{3}", "a repetition of a repetition"},
        {"a{1001}", "a repetition of more than 1000"},
        {"a{3,2}", "of less than least"},
        {"(a", ") is missing"},
        {"a)", ") without a group"},
        {"[a", "] is missing"},
        {"[]", "] is missing"},
        {"[z-a]", "a range that ends before it begins"},
        {"[[:abc:]]", "a class that there is not"},
        {"\\", "a backslash at the end"},
        {"\\y", "a backslash before a letter"},
        {"\\1", "a backslash before a letter or digit"},
        {"\\x4", "\\x is not followed by a code point"},
        {"\\x{110000}", "\\x is not followed by a code point"},
        {"(?=a)", "a group that there is not"},
        {"(?<!a)", "a group that there is not"},
        {"(?P<a", "> is missing"},
        {"\xff", "a pattern that is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Regex *regex = NULL;
        assert_fails_saying(INVALID, rows[i].says, regex_create(rows[i].pattern, &regex));
        assert_null(regex);
    }
    Regex *regex = NULL;
    assert_fails_saying(UNSUPPORTED, "\\p, Unicode's classes", regex_create("\\pL", &regex));
}

static void test_regex_parse_has_limits(void **state) {
    (void)state;
    Regex *regex = NULL;
    assert_fails_saying(
        UNSUPPORTED, "more than 16384 steps", regex_create("((a{100}){100}){100}", &regex));
    TextBuilder OWN_TEXT(deep) = {0};
    for (int i = 0; i <= REGEX_NESTING_MAX; i++) text_append(&deep, "(");
    assert_fails_saying(
        UNSUPPORTED, "nested deeper than 200", regex_create(text_builder_get(&deep), &regex));
}

int test_regex_parse(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_parse_refuses_what_is_no_pattern),
        cmocka_unit_test(test_regex_parse_has_limits),
    };
    return cmocka_run_group_tests_name("regex_parse", tests, NULL, NULL);
}
