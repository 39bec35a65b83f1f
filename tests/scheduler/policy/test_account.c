#include "scheduler/policy/account.h"

#include "tests/scheduler/policy_fixture.h"

static void test_virtual_time_goes_slower_for_greater_weights(void **state) {
    (void)state;
    assert_true(account_virtual_time(30, 1) == 3 * account_virtual_time(30, 3));
    assert_true(account_virtual_time(0, 1) == 0);
    assert_true(account_virtual_time(POLICY_TIME_MAX, 1) / VIRTUAL_TIME_UNIT == POLICY_TIME_MAX);
}

/* A tenant with one short slice after the other is not charged its whole budgets. */
static void test_what_a_slice_did_not_use_is_given_back(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t ns[3] = {0};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, policy_light_job(1, 0));
    PolicyEvent other = policy_light_job(2, 1);
    policy_set_limit(&f, 1, POLICY_QUOTA_RUNNING_JOBS, 5);
    policy_submit(&f, other);
    for (int i = 0; i < 2000; i++) {
        uint64_t job = policy_running(&f, 0), slice = job == 1 ? MS : 10 * MS;
        ns[job] += slice;
        policy_end_slice(&f, job, 0, slice, POLICY_OUTCOME_SLICE_ENDED);
    }
    assert_in_range(ns[2], ns[1] * 2 - 30 * MS, ns[1] * 2 + 30 * MS);
}

int test_account(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_virtual_time_goes_slower_for_greater_weights),
        cmocka_unit_test(test_what_a_slice_did_not_use_is_given_back),
    };
    return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
