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

int test_regex(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_matches_the_whole_text),
        cmocka_unit_test(test_regex_takes_time_in_proportion),
    };
    return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
