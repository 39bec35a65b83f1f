#include "scheduler/http/client/json_body.h"

#include <stdlib.h>

#include "tests/support/test_support.h"

static Error *parse(const char *text) {
    OWN_JSON(object) = NULL;
    return json_body_parse(text, strlen(text), &object);
}

static void test_json_body_takes_json_and_nothing_else(void **state) {
    (void)state;
    static const char *const wrong[] = {"{", "}", "[]", "1", "null", "\"x\"", "{} {}", "{}x",
        "{'a':1}", "{\"a\":1,}", "{\"a\":[1,]}", "{a:1}", "{\"a\":NaN}", "{\"a\":Infinity}",
        "{\"a\":-Infinity}", "{\"a\":TRUE}", "{\"a\":01x}", "{\"a\":\"\xff\"}", "/* */{}",
        "{\"a\" 1}", "{\"a\":\"\n\"}", "{\"a\":01}", "{\"a\":nan}", "{\"a\":1e}",
        "{\"a\":\"\\u12\"}", "{\"a\":1,\"a\":2}", "{\"a\":[{\"b\":1,\"b\":1}]}",
        "{\"a\":1,\"\\u0061\":2}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error *error = parse(wrong[i]);
        if (error_code(error) != ERROR_INVALID) fail_msg("%s was taken", wrong[i]);
        error_free(error);
    }
    assert_ok(parse(""));
    assert_ok(parse(" {\"a\": [1, 2.5E3, true, null, \"NaN /\\\" Z\"]}\r\n"));
    assert_ok(parse("{\"a:\":{\"b\":[{\"b\":\":\"},{\"b\":{}}]},\"b\":1}"));
    OWN_JSON(object) = NULL;
    assert_fails(INVALID, json_body_parse("{}\0", 3, &object));
}

static void test_json_body_limits_depth(void **state) {
    (void)state;
    for (int depth = 90; depth < 5000; depth += 4000) {
        char *text = calloc((size_t)depth * 2 + 16, 1);
        assert_non_null(text);
        memcpy(text, "{\"a\":", 5);
        memset(text + 5, '[', (size_t)depth);
        memset(text + 5 + depth, ']', (size_t)depth);
        text[5 + 2 * depth] = '}';
        Error *error = parse(text);
        assert_int_equal(error_code(error), depth < 100 ? ERROR_NONE : ERROR_INVALID);
        error_free(error);
        free(text);
    }
}

static void test_json_body_reads_fields_within_limits(void **state) {
    (void)state;
    OWN_JSON(object) = NULL;
    static const char text[] =
        "{\"t\":\"word\",\"n\":7,\"r\":2.5,\"f\":true,\"nul\":\"a\\u0000b\",\"none\":null,"
        "\"big\":99999999999999999999,\"huge\":1e999}";
    static const char *const known[] = {"t", "n", "r", "f", "nul", "none", "big", "huge", NULL};
    const char *word = NULL;
    int64_t number = -1;
    double real = 0;
    bool flag = false;
    assert_ok(json_body_parse(text, sizeof text - 1, &object));
    assert_ok(json_body_text(object, "t", &word));
    assert_string_equal(word, "word");
    assert_ok(json_body_number(object, "n", 0, 10, &number));
    assert_int_equal(number, 7);
    assert_ok(json_body_real(object, "r", 0, 10, &real));
    assert_true(real == 2.5);
    assert_ok(json_body_flag(object, "f", &flag));
    assert_true(flag);
    /* missing and null leave what was there */
    assert_ok(json_body_number(object, "nothing", 0, 10, &number));
    assert_ok(json_body_number(object, "none", 0, 10, &number));
    assert_int_equal(number, 7);
    assert_fails(INVALID, json_body_number(object, "n", 8, 10, &number));
    assert_fails(INVALID, json_body_number(object, "t", 0, 10, &number));
    assert_fails(INVALID, json_body_number(object, "r", 0, 10, &number));
    assert_fails(INVALID, json_body_number(object, "big", 0, INT64_MAX, &number));
    assert_fails(INVALID, json_body_real(object, "huge", 0, 1e300, &real));
    assert_fails(INVALID, json_body_text(object, "nul", &word));
    assert_fails(INVALID, json_body_text(object, "n", &word));
    assert_fails(INVALID, json_body_flag(object, "n", &flag));
    assert_ok(json_body_check_fields(object, known));
    assert_fails_saying(INVALID, "huge",
        json_body_check_fields(
            object, (const char *const[]){"t", "n", "r", "f", "nul", "none", "big", NULL}));
}

int test_json_body(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_body_takes_json_and_nothing_else),
        cmocka_unit_test(test_json_body_limits_depth),
        cmocka_unit_test(test_json_body_reads_fields_within_limits),
    };
    return cmocka_run_group_tests_name("json_body", tests, NULL, NULL);
}
