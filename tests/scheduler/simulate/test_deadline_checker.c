#include "scheduler/simulate/deadline_checker.h"

#include "tests/support/test_support.h"

#define MS ((uint64_t)1000000)

static DeadlineJob job(uint64_t number, uint64_t tenant, uint64_t deadline_ms, uint64_t left_ms) {
    return (DeadlineJob){.job = number,
        .tenant = tenant,
        .deadline_ns = deadline_ms * MS,
        .left_ns = left_ms * MS,
        .class_ = POLICY_HIGH};
}

/* Tenant 1 of weight 1 beside one of weight 3 is sure of a quarter of what the floors leave. */
static void test_feasible_is_what_the_guaranteed_share_allows(void **state) {
    (void)state;
    OWN(DeadlineChecker, checker) = NULL;
    const PolicyEvent config = {.floor_permille = 50, .floor_window_ns = 1000 * MS};
    assert_ok(deadline_checker_create(2, &checker));
    deadline_checker_set_config(checker, &config, MS);
    deadline_checker_set_weight(checker, 0, 3);
    deadline_checker_set_weight(checker, 1, 1);
    const DeadlineJob loose = job(1, 1, 1200, 200), tight = job(2, 0, 100, 200);
    assert_ok(deadline_checker_enter(checker, &loose, 0));
    assert_ok(deadline_checker_enter(checker, &tight, 0));
    assert_true(deadline_checker_is_feasible(checker, 1));
    assert_false(deadline_checker_is_feasible(checker, 2));
    const DeadlineJob before = job(3, 1, 1000, 200); /* earlier, and takes its time */
    assert_ok(deadline_checker_enter(checker, &before, 0));
    assert_false(deadline_checker_is_feasible(checker, 1));
    deadline_checker_leave(checker, 1);
    deadline_checker_leave(checker, 99);
    assert_false(deadline_checker_is_feasible(checker, 1));
}

static void test_a_higher_class_leaves_the_floor_only(void **state) {
    (void)state;
    OWN(DeadlineChecker, checker) = NULL;
    const PolicyEvent config = {.floor_permille = 50, .floor_window_ns = 1000 * MS};
    DeadlineJob low = job(1, 0, 1000, 300);
    low.class_ = POLICY_LOW;
    assert_ok(deadline_checker_create(1, &checker));
    deadline_checker_set_config(checker, &config, MS);
    deadline_checker_set_weight(checker, 0, 1);
    assert_ok(deadline_checker_enter(checker, &low, 0));
    assert_true(deadline_checker_is_feasible(checker, 1));
    deadline_checker_serve(checker, 1, 50 * MS);
    deadline_checker_see_class(checker, POLICY_HIGH);
    assert_false(deadline_checker_is_feasible(checker, 1));
}

int test_deadline_checker(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feasible_is_what_the_guaranteed_share_allows),
        cmocka_unit_test(test_a_higher_class_leaves_the_floor_only),
    };
    return cmocka_run_group_tests_name("deadline_checker", tests, NULL, NULL);
}
