#include "scheduler/policy/growth.h"

#include "tests/scheduler/policy_fixture.h"

static void test_free_memory_is_granted_at_once(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 26 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_need(&f, 1, 0, 15 * MIB); /* all that is left */
    assert_int_equal(policy_expect(&f, POLICY_ACTION_GRANT, 1)->bytes, 16 * MIB);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
}

/* Job 1 has had its share, so job 2 keeps its memory. */
static void test_without_room_it_moves_out_and_comes_back_with_all_of_it(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 26 * MIB);
    for (uint64_t i = 0; i < 2; i++) policy_start(&f, policy_job(i + 1, i));
    policy_need(&f, 1, 0, 5 * MIB); /* 4 MiB are free */
    assert_int_equal(policy_expect(&f, POLICY_ACTION_MOVE_OUT, 1)->place, POLICY_PLACE_HOST);
    assert_int_equal(policy_running(&f, 0), 2);
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, 1, true);
    assert_null(policy_action(&f, POLICY_ACTION_GRANT));
    policy_end_slice(&f, 2, 0, MS, POLICY_OUTCOME_FINISHED);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_GRANT, 1)->bytes, 6 * MIB);
    policy_expect(&f, POLICY_ACTION_MOVE_IN, 1);
}

int test_growth(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_memory_is_granted_at_once),
        cmocka_unit_test(test_without_room_it_moves_out_and_comes_back_with_all_of_it),
    };
    return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
