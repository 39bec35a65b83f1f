#include "scheduler/control.h"

#include "tests/scheduler/control_fixtures.h"

/* The process ends without a word; the next one goes on from the newest checkpoint. */
static void test_control_recovers_after_its_end(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, suspended;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "slow", 40, true, NULL, &id));
    assert_ok(control_fixture_submit(&fixture, "slow", 60, true, NULL, &suspended));
    control_fixture_wait_outputs(&fixture, suspended, 1);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, suspended));
    control_fixture_wait_outputs(&fixture, id, 2);
    assert_ok(control_checkpoint(fixture.control, TENANT_DEFAULT, id));
    control_fixture_wait_outputs(&fixture, id, 4);
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 40);
    control_fixture_check(&fixture, id, 40, 2);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, suspended, &job));
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, suspended, NULL));
    control_fixture_wait(&fixture, suspended, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, suspended, 60, 2);
}

static void test_control_drains_with_checkpoints(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[3];
    Job job;
    size_t left;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    for (int i = 0; i < 3; i++)
        assert_ok(control_fixture_submit(&fixture, "slow", 16, true, NULL, &ids[i]));
    control_fixture_wait_outputs(&fixture, ids[0], 1);
    assert_ok(control_drain(fixture.control, (uint64_t)30 * 1000000000, &left));
    assert_int_equal(left, 3);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[0], &job));
    assert_true(job.checkpoint_last > 0);
    assert_fails(UNREACHABLE, control_fixture_submit(&fixture, "four", 1, false, NULL, &ids[0]));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < 3; i++) {
        control_fixture_wait(&fixture, ids[i], JOB_STATE_SUCCEEDED, &job);
        control_fixture_check(&fixture, ids[i], 16, 2);
    }
}

int test_control_recovery(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_recovers_after_its_end),
        cmocka_unit_test(test_control_drains_with_checkpoints),
    };
    return cmocka_run_group_tests_name("control_recovery", tests, NULL, NULL);
}
