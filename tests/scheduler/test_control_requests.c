#include "scheduler/control.h"

#include "tests/scheduler/control_fixtures.h"

static void test_control_refuses_what_cannot_run(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_fails(NOT_FOUND, control_fixture_submit(&fixture, "nobody", 1, false, NULL, &id));
    assert_ok(control_fixture_submit(&fixture, "fails", 1, false, NULL, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_FAILED, &job);
    assert_fails_saying(CONFLICT, "failed", control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_fails(CONFLICT, control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_fails(NOT_FOUND, control_cancel(fixture.control, TENANT_DEFAULT + 1, id));
}

static void test_control_answers_a_key_with_its_first_job(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId first, again;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, "k", &first));
    control_fixture_wait(&fixture, first, JOB_STATE_SUCCEEDED, &job);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, "k", &again));
    assert_true(job_id_equal(first, again));
    assert_fails(CONFLICT, control_fixture_submit(&fixture, "four", 4, false, "k", &again));
}

static void test_control_cancels_what_runs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId endless, waiting;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &endless));
    assert_ok(control_fixture_submit(&fixture, "four", 2, false, NULL, &waiting));
    control_fixture_wait(&fixture, waiting, JOB_STATE_SUCCEEDED, &job); /* they share the device */
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, endless));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, endless, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_fails(CONFLICT, control_cancel(fixture.control, TENANT_DEFAULT, endless));
}

int test_control_requests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_refuses_what_cannot_run),
        cmocka_unit_test(test_control_answers_a_key_with_its_first_job),
        cmocka_unit_test(test_control_cancels_what_runs),
    };
    return cmocka_run_group_tests_name("control_requests", tests, NULL, NULL);
}
