#include "tests/vm/vm_fixture.h"
#include "vm/objects/object.h"
#include "vm/objects/string_object.h"

static void test_string_object_is_a_copy_with_an_end(void **state) {
    (void)state;
    StringObject *string;
    assert_ok(string_object_create(NULL, "h\xc3\xa4llo", 4, &string));
    assert_int_equal(string->size, 4);
    assert_string_equal(string->text, "h\xc3\xa4l");
    string_object_release(string);
    assert_ok(string_object_create(NULL, "", 0, &string));
    assert_string_equal(string->text, "");
    string_object_release(string);
}

static void test_string_object_refuses_nul_and_bad_utf8(void **state) {
    (void)state;
    StringObject *string;
    assert_fails(INVALID, string_object_create(NULL, "a\0b", 3, &string));
    assert_fails(INVALID, string_object_create(NULL, "\xff", 1, &string));
}

/* What string.concat makes is counted: a list of large strings must not pass the limit unseen. */
static void test_string_object_is_charged_to_its_meter(void **state) {
    (void)state;
    ObjectMeter *meter;
    StringObject *string, *other;
    assert_ok(object_meter_create(150, &meter));
    assert_ok(string_object_create(meter, "0123456789", 10, &string));
    uint64_t used = object_meter_used_bytes(meter);
    assert_true(used >= 11);
    char text[150] = {0};
    memset(text, 'a', sizeof text);
    assert_fails(EXHAUSTED, string_object_create(meter, text, sizeof text, &other));
    assert_int_equal(object_meter_used_bytes(meter), used);
    object_meter_release(meter); /* the string keeps it */
    string_object_release(string);
}

int test_string_object(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_object_is_a_copy_with_an_end),
        cmocka_unit_test(test_string_object_refuses_nul_and_bad_utf8),
        cmocka_unit_test(test_string_object_is_charged_to_its_meter),
    };
    return cmocka_run_group_tests_name("string_object", tests, NULL, NULL);
}
