#include "scheduler/control.h"

#include "store/node_identity.h"
#include "tests/scheduler/control_fixtures.h"

enum { DRAINED_ROWS = 60 };

/* The process ends without a word; the next one goes on from the newest checkpoint. */
static void test_control_recovers_after_its_end(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, suspended;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "slow", 40, true, NULL, &id));
    control_fixture_suspended(&fixture, 60, true, &suspended);
    control_fixture_wait_outputs(&fixture, id, 2);
    Error *error = control_checkpoint(fixture.control, TENANT_DEFAULT, id);
    assert_true(!error || error_code(error) == ERROR_CONFLICT); /* a busy machine: it has ended */
    error_free(error);
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
        assert_ok(control_fixture_submit(&fixture, "slow", DRAINED_ROWS, true, NULL, &ids[i]));
    control_fixture_wait_outputs(&fixture, ids[0], 1);
    assert_ok(control_drain(fixture.control, (uint64_t)30 * 1000000000, &left));
    /* one may have ended before, where the cores or the disk are busy */
    size_t unfinished = 0, written = 0;
    for (int i = 0; i < 3; i++) {
        assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[i], &job));
        unfinished += job.state != JOB_STATE_SUCCEEDED;
        written += job.state != JOB_STATE_SUCCEEDED && job.checkpoint_last > 0;
    }
    assert_int_equal(left, unfinished);
    assert_true(written > 0);
    assert_fails(UNREACHABLE, control_fixture_submit(&fixture, "four", 1, false, NULL, &ids[0]));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < 3; i++) {
        control_fixture_wait(&fixture, ids[i], JOB_STATE_SUCCEEDED, &job);
        control_fixture_check(&fixture, ids[i], DRAINED_ROWS, 2);
    }
}

/* Its jobs wait until somebody says that they are this home's; each is asked for by itself. */
static void test_control_holds_the_jobs_of_a_copied_home(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    const Digest here = {{1}}, there = {{2}};
    NodeIdentity identity;
    ControlTenantStatus status;
    JobId ids[3];
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < 3; i++)
        assert_ok(control_fixture_submit(&fixture, "slow", 16, true, NULL, &ids[i]));
    control_fixture_wait_outputs(&fixture, ids[0], 1);
    control_fixture_stop(&fixture);
    assert_ok(node_identity_claim(fixture.store, &here, &identity));
    assert_ok(node_identity_claim(fixture.store, &there, &identity));
    assert_int_equal(identity.jobs_held, 3);
    control_fixture_start(&fixture, NULL);
    control_get_tenant(fixture.control, TENANT_DEFAULT, &status);
    assert_int_equal(status.held, 3);
    assert_fails_saying(CONFLICT, "cannot suspend a job that is held",
        control_suspend(fixture.control, TENANT_DEFAULT, ids[0]));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, ids[0], NULL));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, ids[1]));
    control_fixture_wait(&fixture, ids[0], JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, ids[0], 16, 2);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[1], &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[2], &job));
    assert_int_equal(job.state, JOB_STATE_HELD);
}

int test_control_recovery(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_recovers_after_its_end),
        cmocka_unit_test(test_control_drains_with_checkpoints),
        cmocka_unit_test(test_control_holds_the_jobs_of_a_copied_home),
    };
    return cmocka_run_group_tests_name("control_recovery", tests, NULL, NULL);
}
