#include "kernels/tensor/regex.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test_support.h"

static bool matches(const char *pattern, const char *text) {
    OWN(Regex, regex) = NULL;
    assert_ok(regex_create(pattern, &regex));
    void *scratch = malloc(regex_scratch_size(regex) + 1);
    bool answer = regex_matches(regex, text, strlen(text), scratch);
    free(scratch);
    return answer;
}

static void test_regex_matches_the_whole_text(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *yes[4], *no[4];
    } rows[] = {
        {"abc", {"abc"}, {"ab", "abcd", "xabc", ""}},
        {"", {""}, {"a"}},
        {"a*", {"", "a", "aaaa"}, {"b", "ab"}},
        {"a+b?", {"a", "aab"}, {"", "b", "abb"}},
        {"(ab|c)+", {"ab", "cab", "ccabab"}, {"", "a", "cb"}},
        {"a|b|cd", {"a", "b", "cd"}, {"c", "ab", ""}},
        {"a||b", {"a", "", "b"}, {"ab"}},
        {"z{3}", {"zzz"}, {"zz", "zzzz"}},
        {"z{2,}y", {"zzy", "zzzzy"}, {"zy"}},
        {"(?:xy){1,3}", {"xy", "xyxyxy"}, {"", "xyxyxyxy"}},
        {"x{0}y", {"y"}, {"xy"}},
        {"x{,3}", {"x{,3}"}, {"xx"}},
        {"a.c",
            {"abc", "a\xc3\xa4"
                    "c"},
            {"a\nc", "ac"}},
        {"(?s)a.c", {"a\nc"}, {"ac"}},
        {"[a-cx]+", {"abcx"}, {"d", ""}},
        {"[^a-c]", {"d", "\xe2\x82\xac"}, {"a", ""}},
        {"[]a-]+", {"]a-"}, {"b"}},
        {"[\\d\\-_]+", {"1-_"}, {"a"}},
        {"[[:alpha:][:digit:]]+", {"a1"}, {"_"}},
        {"[[:^alpha:]]+", {"1_"}, {"a"}},
        {"\\w+@\\w+\\.\\w+", {"a_1@b.c"}, {"a@b", "a b@c.d"}},
        {"\\D\\S\\W", {"ab "}, {"1b ", "a  ", "abc"}},
        {"(?i)stra\xc3\x9f"
         "E",
            {"STRA\xc3\x9f"
             "e"},
            {"strasse"}},
        {"(?i)[\xc3\xa0-\xc3\xa5]", {"\xc3\x84"}, {"a"}},
        {"(?i:a)b", {"Ab"}, {"AB"}},
        {"((?i)a)b", {"Ab"}, {"AB"}},
        {"(?i)a(?-i)b", {"Ab"}, {"AB"}},
        {"\\Qa.b\\E.", {"a.bc"}, {"axbc"}},
        {"\\x41\\x{1F600}\\t\\.\\060", {"A\xf0\x9f\x98\x80\t.0"}, {"A"}},
        {"^ab$", {"ab"}, {"b"}},
        {"a$b", {NULL}, {"ab", "a\nb"}},
        {"(?m)a$\\n^b", {"a\nb"}, {"ab"}},
        {"\\Aab\\z", {"ab"}, {"a"}},
        {"a\\b b", {"a b"}, {"ab"}},
        {"a\\Bb", {"ab"}, {"a b"}},
        {"(?P<name>a)(?<other>b)", {"ab"}, {"a"}},
        {"a*?b+?", {"ab", "aabb"}, {"a"}},
        {"(a*)*(b|)+", {"", "aab"}, {"ba"}},
        {"(?U)a+", {"aa"}, {""}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int j = 0; j < 4 && rows[i].yes[j]; j++)
            if (!matches(rows[i].pattern, rows[i].yes[j]))
                fail_msg("%s does not match %s", rows[i].pattern, rows[i].yes[j]);
        for (int j = 0; j < 4 && rows[i].no[j]; j++)
            if (matches(rows[i].pattern, rows[i].no[j]))
                fail_msg("%s matches %s", rows[i].pattern, rows[i].no[j]);
    }
}

/* Machines that go back and try again take 2^50 steps here. */
static void test_regex_takes_time_in_proportion(void **state) {
    (void)state;
    char text[2001];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(matches("(a*)*b", text));
    assert_false(matches("(a|a)*(a|aa)+b", text));
    assert_true(matches("(?:a?){1000}a{1000}", text));
}

static void expect_match(
    const char *pattern, const char *text, size_t from, size_t begin, size_t end) {
    OWN(Regex, regex) = NULL;
    size_t found_begin = 0, found_end = 0;
    assert_ok(regex_create(pattern, &regex));
    void *scratch = malloc(regex_search_scratch_size(regex) + 1);
    KernelStopMeter meter = {0};
    const bool found =
        regex_search(regex, text, strlen(text), from, scratch, &meter, &found_begin, &found_end);
    free(scratch);
    assert_int_equal(found, end >= begin);
    if (!found) return;
    assert_int_equal(found_begin, begin);
    assert_int_equal(found_end, end);
}

/* No match is a begin behind an end. */
static void test_regex_search_finds_the_first_and_longest_match(void **state) {
    (void)state;
    expect_match("b+", "abbcbbb", 0, 1, 3);
    expect_match("b+", "abbcbbb", 3, 4, 7);
    expect_match("b+", "abbcbbb", 7, 1, 0);
    expect_match("a|ab|bcde", "xabcde", 0, 1, 3);
    expect_match("a+?", "aaa", 0, 0, 3);
    expect_match("c*", "abc", 0, 0, 0);
    expect_match("x?", "abc", 3, 3, 3);
    expect_match("^b", "ab", 1, 1, 0);
    expect_match("\\bb", "ab b", 1, 3, 4);
    expect_match(".", "\xc3\xa4\xc3\xa4", 2, 2, 4);
    expect_match("\\bb",
        "\xc3\xa4"
        "b",
        2, 2, 3);
}

int test_regex(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_matches_the_whole_text),
        cmocka_unit_test(test_regex_takes_time_in_proportion),
        cmocka_unit_test(test_regex_search_finds_the_first_and_longest_match),
    };
    return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
