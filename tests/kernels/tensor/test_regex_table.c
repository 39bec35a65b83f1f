#include "kernels/tensor/regex_table.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/tensor/regex.h"
#include "tests/support/test_support.h"

static const char *const patterns[] = {"b+", "a|ab|bcde", "a+?", "c*", "x?", "^b", "\\bb", "b\\b",
    "\\Ba", ".", "(?s).", "(?m)^a|b$", "a$", "\\Aab?", "c\\z", "[a-zA-Z0-9_]+", "(?i)AB+", "[^a]+",
    "[\xc3\xa0-\xc3\xa5]b?", "(a|b)*abb", "a.{2}c", "(?:a|ab)(?:c|bcd)", "\\w\\w+", "[\\s,]+", "",
    "a{2,3}", "a*b", "(?m)$"};
static const char *const texts[] = {"", "a", "abbcbbb", "xabcde", "aaabab", "ab b ab", "a\nb\nab",
    "\xc3\xa4\xc3\xa4"
    "b",
    "b\xe2\x82\xac"
    "a_1, c",
    "abcd", "aabbabb", "caacbca\n"};

typedef struct Found {
    bool found;
    size_t begin, end;
} Found;

static Found search(const Regex *regex, const char *text, size_t from) {
    Found found = {0};
    KernelStopMeter meter = {0};
    void *scratch = malloc(regex_search_scratch_size(regex) + 1);
    found.found =
        regex_search(regex, text, strlen(text), from, scratch, &meter, &found.begin, &found.end);
    free(scratch);
    if (!found.found) found.begin = found.end = 0;
    return found;
}

/* The machine that follows all threads says what is right. */
static void test_regex_table_finds_what_the_threads_find(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        OWN(Regex, plain) = NULL;
        OWN(Regex, regex) = NULL;
        assert_ok(regex_create(patterns[i], &plain));
        assert_ok(regex_create(patterns[i], &regex));
        assert_ok(regex_make_table(regex));
        assert_non_null(regex->table);
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++)
            for (size_t from = 0; from <= strlen(texts[j]); from++) {
                if ((texts[j][from] & 0xc0) == 0x80) continue;
                const Found wanted = search(plain, texts[j], from);
                const Found found = search(regex, texts[j], from);
                if (found.found != wanted.found || found.begin != wanted.begin ||
                    found.end != wanted.end)
                    fail_msg("%s in %s from %zu: %d %zu-%zu, not %d %zu-%zu", patterns[i], texts[j],
                        from, found.found, found.begin, found.end, wanted.found, wanted.begin,
                        wanted.end);
            }
    }
}

/* Each of n starts would be followed to the end: 10^10 steps. */
static void test_regex_table_gives_up_what_takes_quadratic_time(void **state) {
    (void)state;
    enum { SIZE = 100000 };
    char *text = malloc(SIZE + 1);
    OWN(Regex, regex) = NULL;
    memset(text, 'a', SIZE);
    text[SIZE] = '\0';
    assert_ok(regex_create("a*b", &regex));
    assert_ok(regex_make_table(regex));
    assert_non_null(regex->table);
    assert_false(search(regex, text, 0).found);
    text[SIZE - 1] = 'b';
    text[SIZE / 2] = 'c';
    assert_int_equal(search(regex, text, 0).begin, SIZE / 2 + 1);
    free(text);
}

static void test_regex_table_is_left_out_where_it_would_be_large(void **state) {
    (void)state;
    static const char *const large[] = {
        "(?:a|b)*a(?:a|b){20}", "(?:a?){1000}", "(?i)[\xc3\xa0-\xc3\xa5]"};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        OWN(Regex, regex) = NULL;
        assert_ok(regex_create(large[i], &regex));
        assert_ok(regex_make_table(regex));
        assert_null(regex->table);
        assert_true(search(regex, "aabababababababababababa\xc3\xa1", 0).found);
    }
}

int test_regex_table(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_table_finds_what_the_threads_find),
        cmocka_unit_test(test_regex_table_gives_up_what_takes_quadratic_time),
        cmocka_unit_test(test_regex_table_is_left_out_where_it_would_be_large),
    };
    return cmocka_run_group_tests_name("regex_table", tests, NULL, NULL);
}
