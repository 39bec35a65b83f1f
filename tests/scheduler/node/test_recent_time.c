#include "scheduler/node/recent_time.h"

#include "base/duration.h"
#include "tests/support/test_support.h"

static void test_recent_time_forgets_what_is_old(void **state) {
    (void)state;
    RecentTime recent;
    uint64_t start_ns = 1234567 * 60 * SECOND_NS + 5;
    recent_time_init(&recent, 3600 * SECOND_NS);
    assert_int_equal(recent_time_sum(&recent, start_ns), 0);
    for (uint64_t i = 0; i < 240; i++) recent_time_add(&recent, start_ns + i * 30 * SECOND_NS, 10);
    uint64_t last_ns = start_ns + 239 * 30 * SECOND_NS;
    assert_int_equal(recent_time_sum(&recent, last_ns), 120 * 10); /* two in each minute */
    assert_int_equal(recent_time_sum(&recent, last_ns + 40 * 60 * SECOND_NS), 40 * 10);
    assert_int_equal(recent_time_sum(&recent, last_ns + 59 * 60 * SECOND_NS), 2 * 10);
    assert_int_equal(recent_time_sum(&recent, last_ns + 60 * 60 * SECOND_NS), 0);
    recent_time_add(&recent, last_ns + 100000 * SECOND_NS, 7);
    assert_int_equal(recent_time_sum(&recent, last_ns + 100000 * SECOND_NS), 7);
}

int test_recent_time(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recent_time_forgets_what_is_old),
    };
    return cmocka_run_group_tests_name("recent_time", tests, NULL, NULL);
}
