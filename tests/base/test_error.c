#include "base/error.h"

#include "tests/support/test_support.h"

static Error *fail_with(const char *text) { FAIL(CORRUPT, "bad %s", text); }

static Error *try_it(Error *error, bool *out_reached) {
    TRY(error);
    *out_reached = true;
    return NULL;
}

static Error *try_wrapped(Error *error) {
    TRY_WRAP(error, "frame %d", 3);
    return NULL;
}

static void test_error_carries_code_message_and_place(void **state) {
    (void)state;
    OWN(Error, error) = fail_with("thing");
    assert_int_equal(error_code(error), ERROR_CORRUPT);
    assert_string_equal(error_message(error), "bad thing");
    assert_non_null(strstr(error_where(error), "test_error.c:"));
    assert_null(strchr(error_where(error), '/'));
}

static void test_error_of_success_is_null(void **state) {
    (void)state;
    assert_int_equal(error_code(NULL), ERROR_NONE);
    assert_string_equal(error_message(NULL), "");
    assert_string_equal(error_where(NULL), "");
    assert_null(error_wrap(NULL, "context"));
    assert_null(error_recode(NULL, ERROR_IO));
    error_free(NULL);
}

static void test_error_try_returns_early(void **state) {
    (void)state;
    bool reached = false;
    assert_ok(try_it(NULL, &reached));
    assert_true(reached);
    reached = false;
    assert_fails(CORRUPT, try_it(fail_with("x"), &reached));
    assert_false(reached);
    assert_fails_saying(CORRUPT, "frame 3: bad y", try_wrapped(fail_with("y")));
    assert_ok(try_wrapped(NULL));
}

static void test_error_wraps_outside_in_and_recodes(void **state) {
    (void)state;
    OWN(Error, error) = error_wrap(error_wrap(fail_with("z"), "inner"), "outer %d", 1);
    assert_string_equal(error_message(error), "outer 1: inner: bad z");
    error = error_recode(error, ERROR_IO);
    assert_int_equal(error_code(error), ERROR_IO);
}

/* Names from untrusted files must not act on a terminal, nor make two lines of one. */
static void test_error_messages_have_no_control_characters(void **state) {
    (void)state;
    OWN(Error, error) = fail_with("a\nb\x1b[2Jc\x7f\xc2\x9b"
                                  "d ü");
    assert_string_equal(error_message(error), "bad a?b?[2Jc???d ü");
    error = error_wrap(error, "\x1b]0;x\a");
    assert_string_equal(error_message(error), "?]0;x?: bad a?b?[2Jc???d ü");
}

static void test_error_messages_are_cut_not_overrun(void **state) {
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    OWN(Error, error) = fail_with(text);
    size_t length = strlen(error_message(error));
    assert_in_range(length, 100, 4000);
    error = error_wrap(error, "%s", text);
    error = error_wrap(error, "short");
    assert_in_range(strlen(error_message(error)), 100, 4000);
    assert_int_equal(strncmp(error_message(error), "short: ", 7), 0);
}

static void test_error_infos_are_complete(void **state) {
    (void)state;
#define ERROR(code, number, http, exit, text)                                                      \
    assert_string_equal(error_info(ERROR_##code)->name, #code);                                    \
    assert_int_equal(error_find_code(#code), ERROR_##code);                                        \
    assert_string_equal(error_info(ERROR_##code)->meaning, text);                                  \
    assert_int_equal(error_info(ERROR_##code)->exit_code, exit);                                   \
    assert_int_equal(error_info(ERROR_##code)->http_status, http);
#include "base/errors.def"
#undef ERROR
    assert_int_equal(error_find_code("NOTHING"), ERROR_NONE);
    assert_string_equal(error_info((ErrorCode)1000)->name, "INTERNAL");
    assert_string_equal(error_info((ErrorCode)-1)->name, "INTERNAL");
}

static void test_error_copies_say_the_same_and_are_freed_apart(void **state) {
    (void)state;
    OWN(Error, error) = error_wrap(fail_with("z"), "outer");
    OWN(Error, copy) = error_copy(error);
    assert_ptr_not_equal(copy, error);
    assert_int_equal(error_code(copy), ERROR_CORRUPT);
    assert_string_equal(error_message(copy), "outer: bad z");
    assert_string_equal(error_where(copy), error_where(error));
    assert_null(error_copy(NULL));
}

int test_error(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_carries_code_message_and_place),
        cmocka_unit_test(test_error_of_success_is_null),
        cmocka_unit_test(test_error_try_returns_early),
        cmocka_unit_test(test_error_wraps_outside_in_and_recodes),
        cmocka_unit_test(test_error_messages_have_no_control_characters),
        cmocka_unit_test(test_error_messages_are_cut_not_overrun),
        cmocka_unit_test(test_error_infos_are_complete),
        cmocka_unit_test(test_error_copies_say_the_same_and_are_freed_apart),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
