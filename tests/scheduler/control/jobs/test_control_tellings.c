#include <math.h>
#include <string.h>

#include "store/jobs/job_events.h"
#include "tests/scheduler/control_fixtures.h"

static const char *find_event(ControlFixture *fixture, JobId id, JobEventKind kind,
    size_t *out_count, char why[JOB_WHY_SIZE]) {
    OWN(JobEventList, list) = NULL;
    assert_ok(job_events_list(fixture->store, TENANT_DEFAULT, id, 0, &list));
    *out_count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == kind && ++*out_count)
            memcpy(why, list->items[i].why, JOB_WHY_SIZE);
    return why;
}

static void test_a_job_tells_where_it_runs_and_why(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    char why[JOB_WHY_SIZE] = "";
    size_t count;
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 2, false, NULL, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_string_equal(
        find_event(&fixture, id, JOB_EVENT_RUNNING, &count, why), "on cpu, the only device");
    assert_int_equal(count, 1);
}

/* With the daemon's restart between, and its deadline: passed once, told once. */
static void test_a_restart_and_a_missed_deadline_are_told_once(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    char why[JOB_WHY_SIZE] = "";
    size_t count = 0;
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    fixture.deadline_s = 0.05;
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
    for (int i = 0; i < 20000 && count == 0; i++) {
        fixture_pause_ms(5);
        (void)find_event(&fixture, id, JOB_EVENT_DEADLINE, &count, why);
    }
    assert_int_equal(count, 1);
    for (int i = 0; i < 2; i++) {
        control_fixture_stop(&fixture);
        control_fixture_start(&fixture, NULL);
    }
    control_fixture_wait_progress(&fixture, id, 0);
    (void)find_event(&fixture, id, JOB_EVENT_RESTARTED, &count, why);
    assert_true(count >= 1);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    control_fixture_wait(&fixture, id, JOB_STATE_CANCELLED, &job);
    (void)find_event(&fixture, id, JOB_EVENT_DEADLINE, &count, why);
    assert_int_equal(count, 1);
    assert_string_equal(why, "its deadline passed before it ended");
}

int test_control_tellings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_tells_where_it_runs_and_why),
        cmocka_unit_test(test_a_restart_and_a_missed_deadline_are_told_once),
    };
    return cmocka_run_group_tests_name("control_tellings", tests, NULL, NULL);
}
