#include "scheduler/policy/replica.h"

#include "tests/scheduler/policy_fixture.h"

static void test_weights_stay_when_nobody_uses_them(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    const Device *device = id_map_find(&f.policy->devices, 0, 0);
    assert_int_equal(device->idle_bytes, 0);
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_FINISHED);
    assert_int_equal(device->idle_bytes, 10 * MIB);
    assert_int_equal(device->used_bytes, 10 * MIB);
    policy_submit(&f, policy_job(2, 0));
    policy_expect(&f, POLICY_ACTION_RUN, 2);
    assert_int_equal(device->idle_bytes, 0);
}

static void test_weights_of_no_bytes_need_no_load(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    PolicyEvent job = policy_job(1, 0);
    job.constant_bytes = 0;
    policy_submit(&f, job);
    policy_expect(&f, POLICY_ACTION_RUN, 1);
}

int test_replica(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_stay_when_nobody_uses_them),
        cmocka_unit_test(test_weights_of_no_bytes_need_no_load),
    };
    return cmocka_run_group_tests_name("replica", tests, NULL, NULL);
}
