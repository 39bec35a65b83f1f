#include "scheduler/recent_time.h"

#include "tests/support/test_support.h"

#define SECOND_NS ((uint64_t)1000000000)

static void test_recent_time_forgets_what_is_old(void **state) {
    (void)state;
    RecentTime recent = {0};
    uint64_t start_ns = 1234567 * SECOND_NS + 5;
    assert_int_equal(recent_time_sum(&recent, start_ns), 0);
    for (uint64_t i = 0; i < 40; i++) recent_time_add(&recent, start_ns + i * SECOND_NS / 2, 10);
    uint64_t last_ns = start_ns + 39 * SECOND_NS / 2;
    assert_int_equal(recent_time_sum(&recent, last_ns), 20 * 10); /* two in each of ten seconds */
    assert_int_equal(recent_time_sum(&recent, last_ns + 4 * SECOND_NS), 12 * 10);
    assert_int_equal(recent_time_sum(&recent, last_ns + 9 * SECOND_NS), 2 * 10);
    assert_int_equal(recent_time_sum(&recent, last_ns + 10 * SECOND_NS), 0);
    recent_time_add(&recent, last_ns + 1000 * SECOND_NS, 7);
    assert_int_equal(recent_time_sum(&recent, last_ns + 1000 * SECOND_NS), 7);
}

int test_recent_time(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recent_time_forgets_what_is_old),
    };
    return cmocka_run_group_tests_name("recent_time", tests, NULL, NULL);
}
