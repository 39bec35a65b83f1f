#include "scheduler/control/control.h"

#include <math.h>

#include "tests/scheduler/control_fixtures.h"

/* What others of its kind took is what a deadline is measured with. */
static void test_a_deadline_is_promised_by_what_others_took(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ControlStatus status;
    JobId first, second;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 2, false, NULL, &first));
    control_fixture_wait(&fixture, first, JOB_STATE_SUCCEEDED, &job);
    fixture.deadline_s = 1000;
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &first));
    assert_true(control_find_status(fixture.control, first, &status));
    assert_true(status.promised_end == 0); /* none of these was seen to end */
    assert_ok(control_fixture_submit(&fixture, "slow", 2, false, NULL, &second));
    assert_true(control_find_status(fixture.control, second, &status));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, second, &job));
    assert_true(status.promised_end > job.submitted && status.promised_end < job.deadline);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, first));
}

int test_job_reports(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_deadline_is_promised_by_what_others_took),
    };
    return cmocka_run_group_tests_name("job_reports", tests, NULL, NULL);
}
