#include "base/name_map.h"

#include <stdio.h>

#include "tests/support/test_support.h"

static void test_name_map_keeps_thousands_of_names(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static int values[COUNT];
    OWN(NameMap, map) = NULL;
    assert_ok(name_map_create(&map));
    assert_null(name_map_find(map, "0"));
    for (int round = 0; round < 2; round++) /* the second round replaces */
        for (int i = 0; i < COUNT; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "%d", i);
            assert_ok(name_map_set(map, name, &values[round ? COUNT - 1 - i : i]));
        }
    assert_int_equal(name_map_count(map), COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        assert_ptr_equal(name_map_find(map, name), &values[COUNT - 1 - i]);
    }
    assert_null(name_map_find(map, "5000"));
    assert_null(name_map_find(map, ""));
}

static void test_name_map_copies_names(void **state) {
    (void)state;
    OWN(NameMap, map) = NULL;
    assert_ok(name_map_create(&map));
    char name[] = "a";
    assert_ok(name_map_set(map, name, name));
    name[0] = 'b';
    assert_ptr_equal(name_map_find(map, "a"), name);
    assert_null(name_map_find(map, "b"));
    name_map_release(NULL);
}

int test_name_map(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_map_keeps_thousands_of_names),
        cmocka_unit_test(test_name_map_copies_names),
    };
    return cmocka_run_group_tests_name("name_map", tests, NULL, NULL);
}
