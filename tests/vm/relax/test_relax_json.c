#include <stdlib.h>

#include "tests/support/test_support.h"
#include "vm/relax/relax_json.h"

static void test_json_members_are_found(void **state) {
    (void)state;
    JsonSpan all = json_span(" {\"a\" : [1, {\"b\":2}, \"x]\"], \"c\\\"\":\"}\", \"d\":-3, "
                             "\"e\":true,\"f\":1.5e3, \"g\":\"h\" } ");
    JsonSpan value, item;
    int64_t number = 0;
    double real = 0;
    bool truth = false;
    assert_true(json_member(all, "a", &value));
    assert_true(json_items(value, &value));
    assert_true(json_next(&value, &item) && json_int(item, &number));
    assert_int_equal(number, 1);
    assert_true(json_next(&value, &item) && json_member(item, "b", &item));
    assert_true(json_next(&value, &item) && json_is_string(item, "x]"));
    assert_false(json_next(&value, &item));
    assert_true(json_member(all, "d", &value) && json_int(value, &number));
    assert_int_equal(number, -3);
    assert_true(json_member(all, "e", &value) && json_bool(value, &truth) && truth);
    assert_true(json_member(all, "f", &value) && json_number(value, &real) && real == 1500);
    assert_true(json_member(all, "g", &value) && json_is_string(value, "h"));
    assert_false(json_is_string(value, "hh"));
    assert_false(json_member(all, "b", &value));
}

/* Text that is no JSON gives nothing, and reads nothing behind its end. */
static void test_json_ends_where_the_text_ends(void **state) {
    (void)state;
    const char *text = "{\"a\":[1,{\"b\":\"c\\\"\"}],\"d\":[[[[]]]]}";
    size_t size = strlen(text);
    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut + 1);
        assert_non_null(copy);
        memcpy(copy, text, cut);
        JsonSpan span = {copy, cut}, value, item;
        if (json_member(span, "d", &value) && json_items(value, &value))
            while (json_next(&value, &item)) {
            }
        (void)json_member(span, "z", &value);
        free(copy);
    }
    JsonSpan value;
    static const char *const none[] = {
        "", "[", "{", "{a:1}", "{\"a\"}", "{\"a\":}", "]", "{\"b\":1 2,\"a\":3}"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(json_member(json_span(none[i]), "a", &value));
}

int test_relax_json(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_members_are_found),
        cmocka_unit_test(test_json_ends_where_the_text_ends),
    };
    return cmocka_run_group_tests_name("relax_json", tests, NULL, NULL);
}
