#include "base/text.h"

#include <math.h>

#include "base/allocator.h"
#include "tests/support/test_support.h"

static void test_text_builder_grows_and_is_taken(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(builder) = {0};
    assert_string_equal(text_builder_get(&builder), "");
    char *text = NULL;
    assert_ok(text_builder_take(&builder, &text));
    assert_string_equal(text, "");
    memory_free(text);
    for (int i = 0; i < 100; i++) text_appendf(&builder, "%d,", i);
    text_append(&builder, "end");
    text_append_bytes(&builder, "xyz", 1);
    assert_ok(text_builder_check(&builder));
    assert_ok(text_builder_take(&builder, &text));
    assert_int_equal(strlen(text), 10 * 2 + 90 * 3 + 4);
    assert_non_null(strstr(text, "98,99,endx"));
    assert_null(builder.data);
    memory_free(text);
    builder.failed = 1;
    text_append(&builder, "more");
    assert_fails(OUT_OF_MEMORY, text_builder_check(&builder));
    assert_fails(OUT_OF_MEMORY, text_builder_take(&builder, &text));
}

static void test_text_parses_whole_integers_only(void **state) {
    (void)state;
    int64_t i = 0;
    uint64_t u = 0;
    assert_true(text_parse_i64("-9223372036854775808", &i) && i == INT64_MIN);
    assert_true(text_parse_i64("0x10", &i) && i == 16);
    assert_true(text_parse_u64("18446744073709551615", &u) && u == UINT64_MAX);
    assert_true(text_parse_u64("+7", &u) && u == 7);
    static const char *const wrong[] = {"", " 1", "1 ", "1x", "x", "-", "+", "0x", "0xg", "1.5",
        "9223372036854775808", "--1", "1e3", "\t1", "0x8000000000000000"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        i = 42;
        assert_false(text_parse_i64(wrong[k], &i));
        assert_int_equal(i, 42);
    }
    assert_false(text_parse_u64("-1", &u));
    assert_false(text_parse_u64("18446744073709551616", &u));
    assert_true(text_parse_u64("0xffffffffffffffff", &u));
}

static void test_text_parses_floats(void **state) {
    (void)state;
    double f = 0;
    assert_true(text_parse_f64("1.5e3", &f) && f == 1500);
    assert_true(text_parse_f64("0x1p-3", &f) && f == 0.125);
    assert_true(text_parse_f64("-inf", &f) && isinf(f) && f < 0);
    assert_true(text_parse_f64("nan", &f) && isnan(f));
    static const char *const wrong[] = {"", " 1", "1 ", "1x", "e", "."};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        f = 42;
        assert_false(text_parse_f64(wrong[k], &f));
        assert_true(f == 42);
    }
}

/* RFC 3629's borders. */
static void test_text_utf8(void **state) {
    (void)state;
    static const char *const right[] = {"", "abc", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const wrong[] = {"\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf",
        "\xe0\xa0", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff", "a\xe2\x82"};
    for (size_t k = 0; k < sizeof right / sizeof *right; k++)
        assert_true(text_is_utf8(right[k], strlen(right[k])));
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_false(text_is_utf8(wrong[k], strlen(wrong[k])));
    assert_false(text_is_utf8("a\0b", 3));
}

static void test_text_names(void **state) {
    (void)state;
    char long_name[66];
    memset(long_name, 'a', sizeof long_name);
    long_name[64] = 0;
    assert_true(text_is_name(long_name));
    long_name[64] = 'a';
    long_name[65] = 0;
    assert_false(text_is_name(long_name));
    assert_true(text_is_name("resnet-50_v1.5"));
    assert_true(text_is_name("7"));
    static const char *const wrong[] = {
        "", ".hidden", "-x", "_x", "a/b", "a b", "a@b", "..", "ä", "a\n"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) assert_false(text_is_name(wrong[k]));
    assert_true(text_starts_with("abc", "ab") && !text_starts_with("a", "ab"));
    assert_true(text_ends_with("abc", "bc") && !text_ends_with("c", "bc"));
}

static void test_text_hexadecimal(void **state) {
    (void)state;
    uint8_t bytes[3] = {0, 0xa5, 0xff};
    char text[7];
    text_hex(bytes, 3, text);
    assert_string_equal(text, "00a5ff");
    assert_true(text_parse_hex("00A5fF", bytes, 3));
    assert_int_equal(bytes[1], 0xa5);
    assert_false(text_parse_hex("00a5f", bytes, 3));
    assert_false(text_parse_hex("00a5ff0", bytes, 3));
    assert_false(text_parse_hex("00a5fg", bytes, 3));
}

int test_text(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_builder_grows_and_is_taken),
        cmocka_unit_test(test_text_parses_whole_integers_only),
        cmocka_unit_test(test_text_parses_floats),
        cmocka_unit_test(test_text_utf8),
        cmocka_unit_test(test_text_names),
        cmocka_unit_test(test_text_hexadecimal),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
