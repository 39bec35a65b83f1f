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

static void test_clock_timespec_and_back(void **state) {
    (void)state;
    static const uint64_t times[] = {0, 1, 999999999, 1000000000, 1000000001, 1700000000123456789u};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const struct timespec time = clock_timespec(times[i]);
        assert_int_equal(time.tv_sec, times[i] / 1000000000);
        assert_int_equal(time.tv_nsec, times[i] % 1000000000);
        assert_int_equal(clock_timespec_ns(time), times[i]);
    }
}

int test_clock(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_real_never_goes_back),
        cmocka_unit_test(test_clock_timespec_and_back),
        cmocka_unit_test(test_clock_simulated_moves_when_told),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
