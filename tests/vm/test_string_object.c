#include "tests/vm/vm_fixture.h"
#include "vm/string_object.h"

static void test_string_object_is_a_copy_with_an_end(void **state) {
    (void)state;
    StringObject *string;
    assert_ok(string_object_create("h\xc3\xa4llo", 4, &string));
    assert_int_equal(string->size, 4);
    assert_string_equal(string->text, "h\xc3\xa4l");
    string_object_release(string);
    assert_ok(string_object_create("", 0, &string));
    assert_string_equal(string->text, "");
    string_object_release(string);
}

static void test_string_object_refuses_nul_and_bad_utf8(void **state) {
    (void)state;
    StringObject *string;
    assert_fails(INVALID, string_object_create("a\0b", 3, &string));
    assert_fails(INVALID, string_object_create("\xff", 1, &string));
}

int test_string_object(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_object_is_a_copy_with_an_end),
        cmocka_unit_test(test_string_object_refuses_nul_and_bad_utf8),
    };
    return cmocka_run_group_tests_name("string_object", tests, NULL, NULL);
}
