#include "scheduler/policy/device_life.h"

#include "tests/scheduler/policy_fixture.h"

static void test_a_lost_device_throws_its_jobs_back_to_their_checkpoints(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    PolicyJobView view;
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_start(&f, policy_job(1, 0));
    policy_start(&f, policy_job(2, 0));
    policy_about_job(&f, POLICY_EVENT_CHECKPOINTED, 1);
    assert_ok(policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .device = 0}));
    assert_true(policy_find_job(f.policy, 1, &view));
    assert_int_equal(view.state, POLICY_JOB_WAITING);
    assert_int_equal(view.place, POLICY_PLACE_DISK);
    assert_true(policy_find_job(f.policy, 2, &view));
    assert_int_equal(view.place, POLICY_PLACE_NONE);
    assert_false(view.open);
    assert_int_equal(f.policy->replicas.count, 0);
    policy_add_device(&f, 0, 200 * MIB); /* back, with more memory */
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, true);
    assert_non_null(policy_action(&f, POLICY_ACTION_MOVE_IN));
    policy_moved(&f, POLICY_EVENT_MOVED_IN, 1, true);
    assert_true(policy_running(&f, 0) != 0);
}

static void test_a_demanded_device_is_waited_for(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_add_device(&f, 1, 100 * MIB);
    assert_ok(policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .device = 1}));
    PolicyEvent job = policy_job(1, 0);
    job.device = 1;
    policy_start(&f, job);
    assert_int_equal(policy_state(&f, 1), POLICY_JOB_WAITING);
    assert_fails(
        CONFLICT, policy_tell(&f, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_LOST, .device = 1}));
    policy_add_device(&f, 1, 100 * MIB);
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 1, true);
    assert_int_equal(policy_running(&f, 1), 1);
}

int test_device_life(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_device_throws_its_jobs_back_to_their_checkpoints),
        cmocka_unit_test(test_a_demanded_device_is_waited_for),
    };
    return cmocka_run_group_tests_name("device_life", tests, NULL, NULL);
}
