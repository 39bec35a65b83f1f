#include "scheduler/policy/dispatch.h"

#include "tests/scheduler/policy_fixture.h"

static PolicyEvent job_of(uint64_t number, uint64_t tenant, PolicyClass class_) {
    PolicyEvent job = policy_light_job(number, tenant);
    job.class_ = (uint64_t)class_;
    return job;
}

static void test_a_fresh_higher_job_preempts_at_once(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, job_of(1, 0, POLICY_LOW));
    assert_int_equal(policy_running(&f, 0), 1);
    policy_submit(&f, job_of(2, 1, POLICY_NORMAL));
    policy_expect(&f, POLICY_ACTION_PREEMPT, 1);
    policy_submit(&f, job_of(3, 2, POLICY_HIGH));
    assert_null(policy_action(&f, POLICY_ACTION_PREEMPT)); /* once is enough */
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_SLICE_ENDED);
    policy_expect(&f, POLICY_ACTION_RUN, 3);
    policy_end_slice(&f, 3, 0, MS, POLICY_OUTCOME_FINISHED);
    policy_expect(&f, POLICY_ACTION_RUN, 2);
}

/* Over ten seconds of work of the high class each lower one gets its five percent. */
static void test_lower_classes_get_their_floor(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t ns[4] = {0};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    for (uint64_t i = 0; i < 3; i++) policy_submit(&f, job_of(i + 1, i, (PolicyClass)i));
    for (int i = 0; i < 1000; i++) {
        uint64_t job = policy_running(&f, 0);
        ns[job] += 10 * MS;
        policy_end_slice(&f, job, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    }
    assert_in_range(ns[2], 470 * MS, 520 * MS);
    assert_in_range(ns[3], 470 * MS, 520 * MS);
}

/* A floor slice is stopped for a fresh high job, which then goes first. */
static void test_a_floor_slice_never_delays_a_fresh_higher_job(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, job_of(1, 0, POLICY_HIGH));
    policy_submit(&f, job_of(2, 1, POLICY_LOW));
    while (policy_running(&f, 0) == 1)
        policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    policy_submit(&f, job_of(3, 2, POLICY_HIGH));
    policy_expect(&f, POLICY_ACTION_PREEMPT, 2);
    policy_end_slice(&f, 2, 0, MS, POLICY_OUTCOME_SLICE_ENDED);
    assert_true(policy_running(&f, 0) != 2);
}

static void test_a_blocked_execution_waits_until_it_is_unblocked(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_BLOCKED);
    assert_int_equal(policy_running(&f, 0), 0);
    assert_int_equal(policy_state(&f, 1), POLICY_JOB_BLOCKED);
    policy_about_job(&f, POLICY_EVENT_UNBLOCKED, 1);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
}

static void test_what_no_device_can_hold_fails_with_the_figures(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_need(&f, 1, 0, 90 * MIB);
    const PolicyAction *fail = policy_expect(&f, POLICY_ACTION_FAIL, 1);
    assert_int_equal(fail->reason, POLICY_REASON_DEVICE_MEMORY);
    assert_int_equal(fail->limit, 100 * MIB);
    assert_int_equal(fail->used, 101 * MIB);
}

int test_dispatch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fresh_higher_job_preempts_at_once),
        cmocka_unit_test(test_lower_classes_get_their_floor),
        cmocka_unit_test(test_a_floor_slice_never_delays_a_fresh_higher_job),
        cmocka_unit_test(test_a_blocked_execution_waits_until_it_is_unblocked),
        cmocka_unit_test(test_what_no_device_can_hold_fails_with_the_figures),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
