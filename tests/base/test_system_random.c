#include "base/system_random.h"

#include "tests/support/test_support.h"

/* Two fills of 32 bytes differ, and no byte beside them changes. */
static void test_system_random_fills_what_it_is_given(void **state) {
    (void)state;
    uint8_t first[34] = {0}, second[34] = {0};
    assert_ok(system_random(first + 1, 32));
    assert_ok(system_random(second + 1, 32));
    assert_memory_not_equal(first, second, sizeof first);
    assert_int_equal(first[0] | first[33] | second[0] | second[33], 0);
}

int test_system_random(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system_random_fills_what_it_is_given),
    };
    return cmocka_run_group_tests_name("system_random", tests, NULL, NULL);
}
