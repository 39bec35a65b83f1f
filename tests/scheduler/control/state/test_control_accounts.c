#include "scheduler/control/control.h"

#include <stdlib.h>

#include "tests/scheduler/control_fixtures.h"

static double read_metric(Metrics *metrics, const char *row) {
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_print(metrics, &text));
    const char *at = strstr(text_builder_get(&text), row);
    assert_non_null(at);
    return strtod(at + strlen(row), NULL);
}

static void expect_metric(Metrics *metrics, const char *row, double expected) {
    double found = read_metric(metrics, row);
    if (found != expected) fail_msg("%s is %g, not %g", row, found, expected);
}

/* Two jobs share a device, one of them lays over; every count is what happened. */
static void test_control_counts_what_happens(void **state) {
    (void)state;
    OWN(Metrics, metrics) = NULL;
    ControlFixture OWN_CONTROL(fixture);
    JobId slow, forever, bad;
    Job job;
    assert_ok(metrics_create(&metrics));
    control_fixture_init(&fixture);
    fixture.metrics = metrics;
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &forever));
    assert_ok(control_fixture_submit(&fixture, "slow", 8, true, NULL, &slow));
    assert_ok(control_fixture_submit(&fixture, "fails", 1, false, NULL, &bad));
    control_fixture_wait_outputs(&fixture, slow, 1);
    uint64_t instructions = 0;
    for (int i = 0; i < 3; i++) {
        control_fixture_wait_progress(&fixture, forever, instructions);
        assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, forever));
        ControlStatus status;
        assert_true(control_find_status(fixture.control, forever, &status));
        instructions = status.counters.instructions;
        assert_ok(control_resume(fixture.control, TENANT_DEFAULT, forever, NULL));
    }
    control_fixture_wait(&fixture, slow, JOB_STATE_SUCCEEDED, &job);
    control_fixture_wait(&fixture, bad, JOB_STATE_FAILED, &job);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, forever));
    expect_metric(metrics, "\nlayover_jobs_submitted_total ", 3);
    expect_metric(metrics, "\nlayover_jobs_ended_total{state=\"succeeded\"} ", 1);
    expect_metric(metrics, "\nlayover_jobs_ended_total{state=\"failed\"} ", 1);
    expect_metric(metrics, "\nlayover_jobs_ended_total{state=\"cancelled\"} ", 1);
    expect_metric(metrics, "\nlayover_jobs_ended_total{state=\"moved\"} ", 0);
    expect_metric(metrics, "\nlayover_job_start_seconds_count ", 3);
    expect_metric(metrics, "\nlayover_suspend_seconds_count ", 3);
    assert_true(read_metric(metrics, "\nlayover_checkpoint_seconds_count ") >= 3);
    assert_true(read_metric(metrics, "\nlayover_checkpoint_bytes_total ") > 0);
    /* it went on twice before it was suspended again; the last time, it may be cancelled before its
     * turn */
    double resumed = read_metric(metrics, "\nlayover_resume_seconds_count ");
    assert_true(resumed == 2 || resumed == 3);
    double slices = read_metric(metrics, "\nlayover_slices_total ");
    double switches = read_metric(metrics, "\nlayover_switch_seconds_count ");
    assert_true(switches > 0 && switches < slices);
}

static void wait_for_phases(ControlFixture *fixture, size_t waiting, size_t running,
    size_t suspended, ControlTenantStatus *out_status) {
    for (int i = 0; i < 20000; i++) {
        control_get_tenant(fixture->control, TENANT_DEFAULT, out_status);
        if (out_status->waiting == waiting && out_status->running == running &&
            out_status->suspended == suspended)
            return;
        fixture_pause_ms(1);
    }
    fail_msg("%zu wait, %zu run, %zu are suspended", out_status->waiting, out_status->running,
        out_status->suspended);
}

/* Also those of a process before. */
static void test_control_knows_where_a_tenants_jobs_are(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    ControlTenantStatus status;
    JobId ids[2];
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    wait_for_phases(&fixture, 0, 0, 0, &status);
    assert_true(status.device_seconds == 0 && status.share == 0);
    for (int i = 0; i < 2; i++)
        assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &ids[i]));
    wait_for_phases(&fixture, 0, 2, 0, &status);
    assert_int_equal(control_running_count(fixture.control), 2);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, ids[0]));
    wait_for_phases(&fixture, 0, 1, 1, &status);
    assert_true(status.device_seconds > 0 && status.share == 1);
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    wait_for_phases(&fixture, 0, 1, 1, &status);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, ids[0]));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, ids[1]));
    wait_for_phases(&fixture, 0, 0, 0, &status);
    assert_int_equal(control_running_count(fixture.control), 0);
}

int test_control_accounts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_counts_what_happens),
        cmocka_unit_test(test_control_knows_where_a_tenants_jobs_are),
    };
    return cmocka_run_group_tests_name("control_accounts", tests, NULL, NULL);
}
