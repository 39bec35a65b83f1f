#include "kernels/sim/sim_pace.h"

#include "base/clock.h"
#include "tests/support/test_support.h"

static void test_sim_pace_without_a_rate_keeps_no_time(void **state) {
    (void)state;
    SimPace pace;
    sim_pace_init(&pace, 0);
    assert_int_equal(sim_pace_begin(&pace), 0);
    sim_pace_end(&pace, 0, UINT64_MAX);
    assert_int_equal(pace.free_ns, 0);
}

/* A wait may be longer than asked for, never shorter. */
static void test_sim_pace_waits_as_long_as_the_bytes_take(void **state) {
    (void)state;
    SimPace pace;
    sim_pace_init(&pace, 1e6);
    uint64_t start_ns = sim_pace_begin(&pace);
    sim_pace_end(&pace, start_ns, 2000); /* 2 ms */
    assert_true(clock_now_ns(clock_real()) >= start_ns + 2000000);
}

/* What comes while others pass queues up behind them, also where each wait is too short to sleep.
 */
static void test_sim_pace_adds_up(void **state) {
    (void)state;
    SimPace pace;
    sim_pace_init(&pace, 1e6);
    uint64_t start_ns = sim_pace_begin(&pace);
    for (int i = 0; i < 100; i++) sim_pace_end(&pace, start_ns, 20);
    assert_int_equal(pace.free_ns, start_ns + 2000000);
    assert_true(clock_now_ns(clock_real()) + 50000 >= start_ns + 2000000);
}

/* Time that passed unused is gone. */
static void test_sim_pace_begins_anew_after_a_rest(void **state) {
    (void)state;
    SimPace pace;
    sim_pace_init(&pace, 1e9);
    sim_pace_end(&pace, 1000, 500);
    assert_int_equal(pace.free_ns, 1500);
    sim_pace_end(&pace, 9000, 500);
    assert_int_equal(pace.free_ns, 9500);
}

int test_sim_pace(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_pace_without_a_rate_keeps_no_time),
        cmocka_unit_test(test_sim_pace_waits_as_long_as_the_bytes_take),
        cmocka_unit_test(test_sim_pace_adds_up),
        cmocka_unit_test(test_sim_pace_begins_anew_after_a_rest),
    };
    return cmocka_run_group_tests_name("sim_pace", tests, NULL, NULL);
}
