#include "scheduler/control.h"

#include "tests/scheduler/control_fixtures.h"

enum { ROWS = 6000 }; /* the product of ROWS x ROWS takes seconds */

static JobState state_of(ControlFixture *fixture, JobId id) {
    Job job;
    assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, id, &job));
    return job.state;
}

/* While one kernel computes, another job begins and ends on the same device; the one whose kernel
 * it is is suspended, resumed and cancelled without waiting for it. */
static void check_long_kernel(const char *const *devices) {
    ControlFixture OWN_CONTROL(fixture);
    JobId kernel, other;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, devices);
    assert_ok(control_fixture_submit(&fixture, "kernel", ROWS, false, NULL, &kernel));
    fixture_pause_ms(300); /* it is in the kernel; if not, less is tested */
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, NULL, &other));
    control_fixture_wait(&fixture, other, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(state_of(&fixture, kernel), JOB_STATE_QUEUED);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, kernel));
    assert_int_equal(state_of(&fixture, kernel), JOB_STATE_SUSPENDED);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, kernel, NULL));
    fixture_pause_ms(300);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, kernel));
    assert_int_equal(state_of(&fixture, kernel), JOB_STATE_CANCELLED);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, NULL, &other));
    control_fixture_wait(&fixture, other, JOB_STATE_SUCCEEDED, &job);
}

static void test_a_long_kernel_keeps_nobody_waiting_on_cpu(void **state) {
    (void)state;
    check_long_kernel(NULL);
}

static void test_a_long_kernel_keeps_nobody_waiting_on_sim(void **state) {
    (void)state;
    static const char *const sim[] = {"sim:0", NULL};
    check_long_kernel(sim);
}

int test_control_aside(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_kernel_keeps_nobody_waiting_on_cpu),
        cmocka_unit_test(test_a_long_kernel_keeps_nobody_waiting_on_sim),
    };
    return cmocka_run_group_tests_name("control_aside", tests, NULL, NULL);
}
