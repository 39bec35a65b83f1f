#include "scheduler/control/control.h"

#include <string.h>

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

static void test_a_long_kernel_keeps_nobody_waiting_on_a_worker_process(void **state) {
    (void)state;
    static const char *const worker[] = {"sim:0,worker=process", NULL};
    check_long_kernel(worker);
}

/* A job whose kernel keeps a suspension waiting. */
static JobId suspend_in_kernel(ControlFixture *fixture) {
    JobId id;
    for (long pause_ms = 20; pause_ms < 1000; pause_ms *= 2) {
        assert_ok(control_fixture_submit(fixture, "four", 5000, false, NULL, &id));
        fixture_pause_ms(pause_ms);
        OWN(Error, error) = control_suspend(fixture->control, TENANT_DEFAULT, id);
        if (error) {
            assert_int_equal(error_code(error), ERROR_EXHAUSTED);
            assert_non_null(strstr(error_message(error), "suspended when it ends"));
            return id;
        }
        assert_ok(control_cancel(fixture->control, TENANT_DEFAULT, id)); /* it had not begun */
    }
    fail_msg("no suspension finds the job in its kernel");
    return id;
}

/* Who waits for a kernel learns that there is no safepoint in it; a kernel that nothing stops keeps
 * a suspension waiting, too, and is said to have been left when the daemon ends. */
static void test_who_waits_for_a_kernel_is_told(void **state) {
    (void)state;
    static const char *const slow[] = {"sim:0,speed=0.00001", NULL};
    ControlFixture OWN_CONTROL(fixture);
    JobId kernel, deaf;
    size_t left;
    char name[JOB_ID_TEXT_SIZE];
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "kernel", ROWS, false, NULL, &kernel));
    control_fixture_wait_kernel(&fixture, kernel, "MatMul");
    assert_int_equal(state_of(&fixture, kernel), JOB_STATE_QUEUED);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, kernel));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, slow);
    deaf = suspend_in_kernel(&fixture);
    assert_ok(control_drain(fixture.control, 1, &left));
    assert_int_equal(left, 1);
    job_id_print(deaf, name);
    assert_non_null(strstr(control_get_left(fixture.control), name));
    assert_non_null(strstr(control_get_left(fixture.control), "from its inputs"));
}

int test_control_aside(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_kernel_keeps_nobody_waiting_on_cpu),
        cmocka_unit_test(test_a_long_kernel_keeps_nobody_waiting_on_sim),
        cmocka_unit_test(test_a_long_kernel_keeps_nobody_waiting_on_a_worker_process),
        cmocka_unit_test(test_who_waits_for_a_kernel_is_told),
    };
    return cmocka_run_group_tests_name("control_aside", tests, NULL, NULL);
}
