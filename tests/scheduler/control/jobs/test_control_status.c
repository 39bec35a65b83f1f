#include "scheduler/control/control.h"

#include "tests/scheduler/control_fixtures.h"

/* A device that is demanded must be there; what is shown of a job names the one it has. */
static void test_control_jobs_run_where_they_demand_it(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ControlStatus status = {0};
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    for (int i = 0; i < 100000 && !status.running; i++)
        assert_true(control_find_status(fixture.control, id, &status));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_fails(NOT_FOUND, control_resume(fixture.control, TENANT_DEFAULT, id, "cuda:7"));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, "sim:0"));
    status.running = false;
    for (int i = 0; i < 10000000 && !status.running; i++)
        assert_true(control_find_status(fixture.control, id, &status));
    assert_string_equal(status.device, "sim:0");
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_string_equal(job.device, "sim:0");
    while (control_find_status(fixture.control, id, &status)) continue; /* it goes soon */
}

int test_control_status(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_jobs_run_where_they_demand_it),
    };
    return cmocka_run_group_tests_name("control_status", tests, NULL, NULL);
}
