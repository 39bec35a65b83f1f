#include "scheduler/policy/quota.h"

#include "tests/scheduler/policy_fixture.h"

static void test_running_jobs_wait_for_each_other(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_set_limit(&f, 0, POLICY_QUOTA_RUNNING_JOBS, 1);
    policy_add_device(&f, 0, 100 * MIB);
    policy_add_device(&f, 1, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_start(&f, policy_job(2, 0));
    assert_int_equal(policy_state(&f, 2), POLICY_JOB_WAITING);
    policy_set_limit(&f, 0, POLICY_QUOTA_RUNNING_JOBS, 2); /* takes effect at once */
    assert_true(policy_state(&f, 2) != POLICY_JOB_WAITING);
}

static void test_every_tenant_is_charged_the_weights_and_the_device_once(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    PolicyUsage one, two;
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    PolicyEvent second = policy_job(2, 1), third = policy_job(3, 1);
    second.model = third.model = 1;
    policy_start(&f, policy_job(1, 0));
    policy_start(&f, second);
    policy_start(&f, third);
    for (int i = 0; i < 6; i++)
        policy_end_slice(&f, policy_running(&f, 0), 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    assert_true(policy_find_usage(f.policy, 0, &one));
    assert_true(policy_find_usage(f.policy, 1, &two));
    assert_int_equal(one.device_bytes, 11 * MIB);
    assert_in_range(two.device_bytes, 11 * MIB, 12 * MIB);
    const Device *device = id_map_find(&f.policy->devices, 0, 0);
    assert_in_range(device->used_bytes, 12 * MIB, 13 * MIB);
    assert_false(policy_find_usage(f.policy, 99, &one));
}

static void test_an_hour_that_is_used_up_asks_for_a_timer(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_set_limit(&f, 0, POLICY_QUOTA_DEVICE_SECONDS_PER_HOUR, 1);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(policy_running(&f, 0), 1);
        policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    }
    assert_int_equal(policy_running(&f, 0), 0);
    const PolicyAction *timer = policy_action(&f, POLICY_ACTION_SET_TIMER);
    assert_int_equal(timer->ns, (uint64_t)3600 * 1000 * MS);
    f.now_ns = timer->ns;
    assert_ok(policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_CLOCK}));
    policy_expect(&f, POLICY_ACTION_RUN, 1);
}

static void test_device_bytes_park_what_is_over(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_set_limit(&f, 0, POLICY_QUOTA_DEVICE_BYTES, 11 * MIB);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_submit(&f, policy_job(2, 0));
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    assert_int_equal(policy_running(&f, 0), 1);
    assert_int_equal(policy_state(&f, 2), POLICY_JOB_WAITING);
    PolicyWait wait;
    assert_true(policy_find_wait(f.policy, 2, &wait));
    assert_true(wait.over_bytes);
    assert_int_equal(wait.left, 0);
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_FINISHED);
    policy_expect(&f, POLICY_ACTION_RUN, 2);
    assert_true(policy_find_wait(f.policy, 2, &wait));
    assert_false(wait.over_bytes || wait.room || wait.weights);
}

/* Weights that are on their way; memory that idle weights hold counts as free. */
static void test_what_a_job_waits_for_is_told(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    PolicyWait wait;
    uint64_t needed, left;
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_submit(&f, policy_job(1, 0));
    assert_true(policy_find_wait(f.policy, 1, &wait));
    assert_true(wait.weights && !wait.room && !wait.over_bytes);
    assert_true(policy_find_room(f.policy, 1, 0, &needed, &left));
    assert_int_equal(needed, 1 * MIB); /* its weights have their place */
    assert_int_equal(left, 89 * MIB);
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, true);
    assert_true(policy_find_wait(f.policy, 1, &wait));
    assert_false(wait.weights);
    policy_submit(&f, policy_job(2, 1));
    policy_end_slice(&f, 1, 0, 10 * MS, POLICY_OUTCOME_FINISHED);
    assert_true(policy_find_room(f.policy, 2, 0, &needed, &left));
    assert_in_range(left, 89 * MIB, 99 * MIB); /* idle weights count as free */
    assert_false(policy_find_room(f.policy, 2, 7, &needed, &left));
    assert_false(policy_find_room(f.policy, 1, 0, &needed, &left));
    assert_false(policy_find_wait(f.policy, 1, &wait));
}

int test_quota(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_jobs_wait_for_each_other),
        cmocka_unit_test(test_every_tenant_is_charged_the_weights_and_the_device_once),
        cmocka_unit_test(test_an_hour_that_is_used_up_asks_for_a_timer),
        cmocka_unit_test(test_device_bytes_park_what_is_over),
        cmocka_unit_test(test_what_a_job_waits_for_is_told),
    };
    return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
