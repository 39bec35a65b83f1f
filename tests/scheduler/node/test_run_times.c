#include "scheduler/node/run_times.h"

#include <string.h>

#include "tests/support/test_support.h"

static void test_run_times_are_averages_of_one_item(void **state) {
    (void)state;
    static RunTimes times;
    memset(&times, 0, sizeof times);
    assert_int_equal(run_times_expect(&times, 7, 0, 1), 0);
    run_times_add(&times, 7, 0, 10, 1000);
    assert_int_equal(run_times_expect(&times, 7, 0, 1), 100);
    assert_int_equal(run_times_expect(&times, 7, 0, 5), 500);
    assert_int_equal(run_times_expect(&times, 7, 1, 1), 0); /* another function */
    assert_int_equal(run_times_expect(&times, 8, 0, 1), 0); /* another model */
    run_times_add(&times, 7, 0, 1, 200);
    assert_int_equal(run_times_expect(&times, 7, 0, 1), 125);
}

/* Whoever has the place of another one does not answer for it. */
static void test_run_times_are_of_a_bounded_number(void **state) {
    (void)state;
    static RunTimes times;
    memset(&times, 0, sizeof times);
    uint64_t right = 0, known = 0;
    for (uint64_t model = 1; model <= 4 * RUN_TIMES_MAX; model++)
        run_times_add(&times, model, 0, 1, 1000 + model);
    for (uint64_t model = 1; model <= 4 * RUN_TIMES_MAX; model++) {
        uint64_t expected = run_times_expect(&times, model, 0, 1);
        known += expected != 0;
        right += expected == 1000 + model;
    }
    assert_true(known > RUN_TIMES_MAX / 2 && known <= RUN_TIMES_MAX);
    assert_int_equal(right, known);
}

int test_run_times(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_times_are_averages_of_one_item),
        cmocka_unit_test(test_run_times_are_of_a_bounded_number),
    };
    return cmocka_run_group_tests_name("run_times", tests, NULL, NULL);
}
