#include "scheduler/policy/fair_share.h"

#include "tests/scheduler/policy_fixture.h"

/* Runs slices of 10 ms; how many each tenant's job (number = tenant + 1) got. */
static void run_slices(PolicyFixture *f, int count, uint64_t slices[4]) {
    for (int i = 0; i < count; i++) {
        uint64_t job = policy_running(f, 0);
        slices[job - 1]++;
        policy_end_slice(f, job, 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    }
}

static void test_device_time_follows_the_weights(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t slices[4] = {0};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    for (uint64_t i = 0; i < 3; i++) policy_submit(&f, policy_light_job(i + 1, i));
    run_slices(&f, 20, slices);
    memset(slices, 0, sizeof slices);
    run_slices(&f, 700, slices);
    assert_in_range(slices[0], 99, 101);
    assert_in_range(slices[1], 199, 201);
    assert_in_range(slices[2], 399, 401);
}

static void test_who_wakes_has_no_credit_for_his_sleep(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t slices[4] = {0};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, policy_light_job(1, 0));
    run_slices(&f, 1000, slices);
    policy_submit(&f, policy_light_job(2, 1));
    memset(slices, 0, sizeof slices);
    run_slices(&f, 30, slices);
    assert_in_range(slices[0], 9, 11);
    assert_in_range(slices[1], 19, 21);
}

static void test_a_new_weight_counts_from_now_on(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t slices[4] = {0};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, policy_light_job(1, 0));
    policy_submit(&f, policy_light_job(2, 1));
    run_slices(&f, 300, slices);
    assert_in_range(slices[0], 99, 101);
    assert_ok(policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_TENANT_SET,
                                  .tenant = 0,
                                  .weight = 2,
                                  .running_jobs = 9,
                                  .queued_jobs = 9,
                                  .device_bytes = POLICY_NO_LIMIT,
                                  .host_bytes = 0,
                                  .device_seconds_per_hour = POLICY_NO_LIMIT}));
    memset(slices, 0, sizeof slices);
    run_slices(&f, 300, slices);
    assert_in_range(slices[0], 149, 151);
}

/* Inside one tenant the earliest deadline goes first, whatever was submitted first. */
static void test_earliest_deadline_goes_first_inside_a_tenant(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    const uint64_t deadlines[] = {0, 9000 * MS, 3000 * MS, 6000 * MS};
    const uint64_t order[] = {3, 4, 2, 1};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    policy_submit(&f, policy_light_job(9, 0));
    for (uint64_t i = 0; i < 4; i++) {
        PolicyEvent job = policy_light_job(i + 1, 0);
        job.deadline_ns = deadlines[i];
        policy_submit(&f, job);
    }
    policy_end_slice(&f, 9, 0, MS, POLICY_OUTCOME_FINISHED);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(policy_running(&f, 0), order[i]);
        policy_end_slice(&f, order[i], 0, MS, POLICY_OUTCOME_FINISHED);
    }
}

static void test_jobs_of_a_tenant_share_by_their_weights(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    uint64_t slices[4] = {0};
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 1000 * MIB);
    PolicyEvent heavy = policy_light_job(2, 0);
    heavy.weight = 3;
    policy_submit(&f, policy_light_job(1, 0));
    policy_submit(&f, heavy);
    run_slices(&f, 400, slices);
    assert_in_range(slices[0], 85, 115);
    assert_in_range(slices[1], 285, 315);
}

int test_fair_share(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_time_follows_the_weights),
        cmocka_unit_test(test_who_wakes_has_no_credit_for_his_sleep),
        cmocka_unit_test(test_a_new_weight_counts_from_now_on),
        cmocka_unit_test(test_earliest_deadline_goes_first_inside_a_tenant),
        cmocka_unit_test(test_jobs_of_a_tenant_share_by_their_weights),
    };
    return cmocka_run_group_tests_name("fair_share", tests, NULL, NULL);
}
