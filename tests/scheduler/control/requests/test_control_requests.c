#include "scheduler/control/requests/control_requests.h"

#include <pthread.h>
#include <string.h>

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

/* A device with too little memory for what was suspended is no end of anything. */
static void test_control_resumes_only_where_there_is_room(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0,memory=8MiB", "sim:1,memory=256KiB", NULL};
    ControlFixture OWN_CONTROL(fixture);
    OWN(JobEventList, list) = NULL;
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, devices);
    assert_ok(control_fixture_submit(&fixture, "forever", 100000, false, NULL, &id));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, "sim:1"));
    control_fixture_wait(&fixture, id, JOB_STATE_SUSPENDED, &job);
    assert_ok(job_events_list(fixture.store, TENANT_DEFAULT, id, 0, &list));
    assert_non_null(strstr(list->items[list->count - 1].why, "has 262144"));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, "sim:0"));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_check(fixture.control));
}

typedef struct Repeater {
    ControlFixture *fixture;
    int64_t rows;
    pthread_t thread;
} Repeater;

static void *submit_again(void *argument) {
    const Repeater *repeater = argument;
    for (int i = 0; i < 250; i++) {
        JobId id;
        bool same = i % 2; /* the other content is a conflict */
        Error *error = control_fixture_submit(
            repeater->fixture, "forever", same ? 2 : repeater->rows, false, "k", &id);
        if (same) assert_ok(error);
        if (!same) assert_fails(CONFLICT, error);
    }
    return NULL;
}

/* A job that the store refuses may have begun, may wait, or may be chosen in the same moment: its
 * device runs others all the same. */
static void test_control_forgets_jobs_that_are_not_stored(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    enum { REPEATERS = 4 };
    Repeater repeaters[REPEATERS];
    JobId first, id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, "k", &first));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, first));
    for (int i = 0; i < REPEATERS; i++) {
        repeaters[i] = (Repeater){&fixture, 3 + i, 0};
        assert_int_equal(
            pthread_create(&repeaters[i].thread, NULL, submit_again, &repeaters[i]), 0);
    }
    for (int i = 0; i < REPEATERS; i++) (void)pthread_join(repeaters[i].thread, NULL);
    assert_ok(control_fixture_submit(&fixture, "four", 2, false, NULL, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_ok(control_check(fixture.control));
}

int test_control_requests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_refuses_what_cannot_run),
        cmocka_unit_test(test_control_answers_a_key_with_its_first_job),
        cmocka_unit_test(test_control_cancels_what_runs),
        cmocka_unit_test(test_control_forgets_jobs_that_are_not_stored),
        cmocka_unit_test(test_control_resumes_only_where_there_is_room),
    };
    return cmocka_run_group_tests_name("control_requests", tests, NULL, NULL);
}
