#include "store/database/store_name.h"

#include "tests/store/store_fixtures.h"

#define LETTERS_64 "a234567890123456789012345678901234567890123456789012345678901234"

static void test_store_name_takes_names(void **state) {
    (void)state;
    static const char *const names[] = {"a", "3", "west-1.example_b", LETTERS_64};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_ok(store_name_check("node", names[i]));
}

static void test_store_name_refuses_what_is_none(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "", ".hidden", "-a", "a/b", "a b", "a@b", "a\n", "\xff", LETTERS_64 "5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_error(store_name_check("node", wrong[i]), ERROR_INVALID, "is no name; a name is 1");
    expect_error(store_name_check("node", "a/b"), ERROR_INVALID, "node \"a/b\"");
}

TEST_GROUP(store_name, cmocka_unit_test(test_store_name_takes_names),
    cmocka_unit_test(test_store_name_refuses_what_is_none))
