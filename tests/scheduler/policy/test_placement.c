#include "scheduler/policy/placement.h"

#include "tests/scheduler/policy_fixture.h"

static void test_a_job_goes_where_its_weights_are(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    for (uint64_t i = 0; i < 3; i++) policy_add_device(&f, i, 100 * MIB);
    PolicyEvent job = policy_job(1, 0);
    job.device = 2;
    policy_start(&f, job);
    policy_end_slice(&f, 1, 2, MS, POLICY_OUTCOME_FINISHED);
    policy_submit(&f, policy_job(2, 0));
    assert_null(policy_action(&f, POLICY_ACTION_LOAD_WEIGHTS));
    assert_int_equal(policy_running(&f, 2), 2);
}

static void test_weights_are_loaded_once_for_many(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 15 * MIB);
    policy_start(&f, policy_job(1, 0));
    for (uint64_t i = 2; i <= 5; i++) {
        policy_submit(&f, policy_job(i, 0));
        assert_null(policy_action(&f, POLICY_ACTION_LOAD_WEIGHTS));
    }
    for (uint64_t i = 1; i <= 5; i++) {
        assert_int_equal(policy_running(&f, 0), i);
        policy_end_slice(&f, i, 0, MS, POLICY_OUTCOME_FINISHED);
    }
}

static void test_an_idle_device_takes_from_the_crowded_one(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    for (uint64_t i = 0; i < 3; i++) policy_start(&f, policy_job(i + 1, i));
    for (uint64_t i = 0; i < 6; i++)
        policy_end_slice(&f, policy_running(&f, 0), 0, 10 * MS, POLICY_OUTCOME_SLICE_ENDED);
    policy_add_device(&f, 1, 100 * MIB);
    const PolicyAction *move = policy_action(&f, POLICY_ACTION_MOVE_OUT);
    assert_non_null(move);
    uint64_t job = move->job;
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, job, true);
    const PolicyAction *load = policy_action(&f, POLICY_ACTION_LOAD_WEIGHTS);
    assert_int_equal(load->device, 1);
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, load->model, 1, true);
    policy_moved(&f, POLICY_EVENT_MOVED_IN, job, true);
    assert_int_equal(policy_running(&f, 1), job);
}

/* The job would go back at once, for want of room, to be taken again, without end. */
static void test_an_idle_device_takes_nothing_that_it_has_no_room_for(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    for (uint64_t i = 0; i < 2; i++) policy_add_device(&f, i, 100 * MIB);
    const uint64_t devices[] = {0, 1, POLICY_NO_DEVICE, POLICY_NO_DEVICE};
    const uint64_t mib[] = {80, 60, 30, 90};
    PolicyEvent jobs[4];
    for (uint64_t i = 0; i < 4; i++) {
        jobs[i] = policy_light_job(i + 1, 0);
        jobs[i].device = devices[i];
        jobs[i].bytes = mib[i] * MIB;
    }
    jobs[2].model = 9; /* which has to be brought in, and so is while the device is busy */
    policy_submit(&f, jobs[0]);
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_BLOCKED);
    policy_submit(&f, jobs[1]);
    policy_submit(&f, jobs[2]);
    policy_end_slice(&f, 2, 1, 0, POLICY_OUTCOME_SLICE_ENDED);
    assert_int_equal(policy_running(&f, 1), 2);
    assert_int_equal(policy_state(&f, 3), POLICY_JOB_READY);
    policy_submit(&f, jobs[3]); /* the idle device looks for something to run */
    assert_null(policy_action(&f, POLICY_ACTION_MOVE_OUT));
    assert_int_equal(policy_state(&f, 3), POLICY_JOB_READY);
    policy_about_job(&f, POLICY_EVENT_UNBLOCKED, 1);
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_FINISHED);
    assert_int_equal(policy_running(&f, 0), 4);
    policy_end_slice(&f, 4, 0, MS, POLICY_OUTCOME_FINISHED);
    policy_expect(&f, POLICY_ACTION_MOVE_OUT, 3); /* there is room now */
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, 3, true);
    assert_int_equal(policy_running(&f, 0), 3);
}

static void test_a_load_that_fails_again_and_again_fails_the_job(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 100 * MIB);
    policy_submit(&f, policy_job(1, 0));
    for (int i = 0; i < JOB_RETRIES_MAX; i++) {
        policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, false);
        assert_non_null(policy_action(&f, POLICY_ACTION_LOAD_WEIGHTS));
    }
    policy_about_weights(&f, POLICY_EVENT_WEIGHTS_LOADED, 1, 0, false);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_FAIL, 1)->reason, POLICY_REASON_RETRIES);
}

/* A job whose execution has not begun is moved out at once. It does not take the room again that
 * the job of a higher class waits for, though the device runs one of a lower class than both. */
static void test_who_leaves_for_a_job_does_not_come_back_before_it(void **state) {
    (void)state;
    OWN_FIXTURE(f);
    policy_fixture_init(&f);
    policy_add_device(&f, 0, 20 * MIB);
    const PolicyClass classes[] = {POLICY_LOW, POLICY_NORMAL, POLICY_HIGH};
    const uint64_t mib[] = {5, 12, 8};
    for (uint64_t i = 0; i < 3; i++) {
        PolicyEvent job = policy_light_job(i + 1, 0);
        job.class_ = classes[i];
        job.bytes = mib[i] * MIB;
        job.device = 0;
        policy_submit(&f, job);
    }
    assert_int_equal(policy_running(&f, 0), 1);
    assert_int_equal(policy_expect(&f, POLICY_ACTION_MOVE_OUT, 2)->place, POLICY_PLACE_NONE);
    policy_moved(&f, POLICY_EVENT_MOVED_OUT, 2, true);
    policy_expect(&f, POLICY_ACTION_GRANT, 3);
    assert_null(policy_action(&f, POLICY_ACTION_MOVE_OUT));
    assert_int_equal(policy_state(&f, 2), POLICY_JOB_WAITING);
    policy_end_slice(&f, 1, 0, MS, POLICY_OUTCOME_SLICE_ENDED);
    assert_int_equal(policy_running(&f, 0), 3);
}

int test_placement(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_goes_where_its_weights_are),
        cmocka_unit_test(test_weights_are_loaded_once_for_many),
        cmocka_unit_test(test_an_idle_device_takes_from_the_crowded_one),
        cmocka_unit_test(test_who_leaves_for_a_job_does_not_come_back_before_it),
        cmocka_unit_test(test_an_idle_device_takes_nothing_that_it_has_no_room_for),
        cmocka_unit_test(test_a_load_that_fails_again_and_again_fails_the_job),
    };
    return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
