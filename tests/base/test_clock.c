#include "base/clock.h"

#include "tests/support/test_support.h"

static void test_clock_real_never_goes_back(void **state) {
    (void)state;
    Clock clock = clock_real();
    uint64_t last = clock_now_ns(clock);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_now_ns(clock);
        assert_true(now >= last);
        last = now;
    }
    assert_true(clock.calendar_s(clock.self) > 1.6e9);
}

static void test_clock_simulated_moves_when_told(void **state) {
    (void)state;
    SimulatedClock simulated = {.calendar_start_s = 1000};
    Clock clock = clock_simulated(&simulated);
    assert_int_equal(clock_now_ns(clock), 0);
    simulated.now_ns = 2500000000u;
    assert_int_equal(clock_now_ns(clock), 2500000000u);
    assert_true(clock.calendar_s(clock.self) == 1002.5);
}

int test_clock(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_real_never_goes_back),
        cmocka_unit_test(test_clock_simulated_moves_when_told),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
