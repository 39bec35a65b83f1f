#include "scheduler/control/control.h"

#include "tests/scheduler/control_fixtures.h"

/* A job that never comes to its end is cancelled while it runs; the row says so before the slice
 * can have ended, and stays that way. */
static void test_control_stores_a_cancel_before_the_slice_ends(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 3, false, NULL, &id));
    control_fixture_wait_progress(&fixture, id, 0);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_fails(CONFLICT, control_cancel(fixture.control, TENANT_DEFAULT, id));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_int_equal(job.output_count, 0);
}

int test_control_slice_end(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_stores_a_cancel_before_the_slice_ends),
    };
    return cmocka_run_group_tests_name("control_slice_end", tests, NULL, NULL);
}
