#include "scheduler/policy/eviction.h"

#include "tests/scheduler/policy_fixture.h"

/* Tenant 0 has run alone; tenant 1's job needs the room that an idle model and then an execution
 * take. */
static void test_idle_weights_go_before_executions(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 45 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_FINISHED);
    policy_start(&f, policy_job(2, 1));
    policy_need(&f, 2, 0, 30 * MIB);
    assert_int_equal(policy_action(&f, POLICY_ACTION_EVICT_WEIGHTS)->model, 1);
    assert_null(policy_action(&f, POLICY_ACTION_MOVE_OUT));
    assert_int_equal(policy_state(&f, 2), POLICY_JOB_GROWING);
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_EVICTED, 1, 0, false);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_GRANT, 2)->bytes, 31 * MIB);
    policy_expect(&f, POLICY_ACTION_RUN, 2);
}

static void test_the_youngest_by_share_moves_out(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 26 * MIB);
    for (uint64_t i = 0; i < 2; i++) policy_start(&f, policy_job(i + 1, i));
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED); /* 1 has had its share */
    policy_need(&f, 2, 0, 5 * MIB);                                  /* 4 MiB are free */
    const PolicyAction *move = policy_expect(&f, POLICY_ACTION_MOVE_OUT, 1);
    assert_int_equal(move->place, POLICY_PLACE_HOST);
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, 1, true);
    policy_expect(&f, POLICY_ACTION_GRANT, 2);
    policy_expect(&f, POLICY_ACTION_RUN, 2);
}

static void test_without_host_memory_it_goes_to_disk(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_set_limit(&f, 0, POLICY_QUOTA_HOST_BYTES, 0);
    policy_add_device(&f, 0, 26 * MIB);
    for (uint64_t i = 0; i < 2; i++) policy_start(&f, policy_job(i + 1, i));
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    policy_need(&f, 2, 0, 5 * MIB);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_MOVE_OUT, 1)->place, POLICY_PLACE_DISK);
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, 1, false); /* the disk is full: it stays */
    assert_true(
        policy_state(&f, 1) == POLICY_JOB_READY || policy_state(&f, 1) == POLICY_JOB_RUNNING);
}

int test_eviction(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_weights_go_before_executions),
        cmocka_unit_test(test_the_youngest_by_share_moves_out),
        cmocka_unit_test(test_without_host_memory_it_goes_to_disk),
    };
    return cmocka_run_group_tests_name("eviction", tests, NULL, NULL);
}
