#include "scheduler/control/control.h"

#include <string.h>

#include "tests/scheduler/control_fixtures.h"

static void test_control_runs_single_and_batch_jobs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId single, batch;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, NULL, &single));
    assert_ok(control_fixture_submit(&fixture, "four", 40, true, NULL, &batch));
    control_fixture_wait(&fixture, single, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 1);
    control_fixture_check(&fixture, single, 1, 4);
    control_fixture_wait(&fixture, batch, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 40);
    assert_int_equal(job.items_done, 40);
    assert_int_equal(job.items_total, 40);
    control_fixture_check(&fixture, batch, 40, 4);
}

static size_t count_class_notes(ControlFixture *fixture, JobId id) {
    OWN(JobEventList, events) = NULL;
    size_t count = 0;
    assert_ok(job_events_list(fixture->store, TENANT_DEFAULT, id, 0, &events));
    for (size_t i = 0; i < events->count; i++)
        count += events->items[i].kind == JOB_EVENT_NOTE &&
                 strstr(events->items[i].why, "goes on with another determinism class: ");
    return count;
}

/* Once for each change, however many slices follow. */
static void test_control_notes_a_change_of_the_arithmetic(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0,lacks=Add", "sim:1", NULL};
    static const char *const places[] = {"sim:0", "sim:0", "cpu", "sim:1"};
    static const size_t notes[] = {1, 1, 2, 2};
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, devices);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
    control_fixture_wait_running(&fixture, id);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, "cpu"));
    control_fixture_wait_running(&fixture, id);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    size_t before = count_class_notes(&fixture, id); /* it may have begun on sim:0 */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, places[i]));
        control_fixture_wait_running(&fixture, id);
        assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
        assert_int_equal(count_class_notes(&fixture, id) - before, notes[i]);
    }
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    control_fixture_wait(&fixture, id, JOB_STATE_CANCELLED, &job);
}

int test_control_slices(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_runs_single_and_batch_jobs),
        cmocka_unit_test(test_control_notes_a_change_of_the_arithmetic),
    };
    return cmocka_run_group_tests_name("control_slices", tests, NULL, NULL);
}
