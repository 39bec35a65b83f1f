#include <pthread.h>

#include "tests/scheduler/control_fixtures.h"

static void test_control_holds_a_suspended_job_until_its_file_is_there(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    Control *control = fixture.control;
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    assert_fails(CONFLICT, control_freeze(control, TENANT_DEFAULT, id));
    assert_fails(CONFLICT, control_release_to_file(control, TENANT_DEFAULT, id));
    assert_fails(NOT_FOUND, control_freeze(control, TENANT_DEFAULT, (JobId){1, 2}));
    assert_ok(control_suspend(control, TENANT_DEFAULT, id));
    assert_fails(CONFLICT, control_release_to_file(control, TENANT_DEFAULT, id));
    assert_ok(control_freeze(control, TENANT_DEFAULT, id));
    assert_fails(CONFLICT, control_freeze(control, TENANT_DEFAULT, id));
    assert_fails_saying(
        CONFLICT, "being released", control_resume(control, TENANT_DEFAULT, id, NULL));
    assert_fails_saying(CONFLICT, "being released", control_cancel(control, TENANT_DEFAULT, id));
    assert_ok(control_thaw(control, TENANT_DEFAULT, id)); /* there was no file */
    assert_fails(CONFLICT, control_thaw(control, TENANT_DEFAULT, id));
    assert_ok(control_resume(control, TENANT_DEFAULT, id, NULL));
    assert_ok(control_suspend(control, TENANT_DEFAULT, id));
    assert_ok(control_freeze(control, TENANT_DEFAULT, id));
    assert_ok(control_release_to_file(control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_RELEASED);
    assert_fails_saying(CONFLICT, "released", control_resume(control, TENANT_DEFAULT, id, NULL));
}

/* A job that was suspended before this process began is unknown to the policy. */
static void test_control_lets_a_job_go_that_it_only_knows_from_the_store(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_freeze(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_release_to_file(fixture.control, TENANT_DEFAULT, id));
    control_fixture_wait(&fixture, id, JOB_STATE_RELEASED, &job);
}

typedef struct Suspender {
    ControlFixture *fixture;
    JobId id;
    pthread_t thread;
    ErrorCode code;
} Suspender;

static void *suspend(void *argument) {
    Suspender *self = argument;
    Error *error = control_suspend(self->fixture->control, TENANT_DEFAULT, self->id);
    self->code = error_code(error);
    error_free(error);
    return NULL;
}

/* Several ask for the same at once: the control thread goes on. */
static void test_control_takes_requests_that_come_too_late(void **state) {
    (void)state;
    enum { ROUNDS = 20, THREADS = 4 };
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    for (int round = 0; round < ROUNDS; round++) {
        Suspender all[THREADS];
        int suspended = 0;
        for (int i = 0; i < THREADS; i++) {
            all[i] = (Suspender){.fixture = &fixture, .id = id};
            assert_int_equal(pthread_create(&all[i].thread, NULL, suspend, &all[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(all[i].thread, NULL), 0);
            assert_true(all[i].code == ERROR_NONE || all[i].code == ERROR_CONFLICT ||
                        all[i].code == ERROR_EXHAUSTED); /* too many that wait */
            suspended += all[i].code == ERROR_NONE;
        }
        assert_true(suspended > 0);
        assert_ok(control_check(fixture.control));
        assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    }
}

int test_control_releasing(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_holds_a_suspended_job_until_its_file_is_there),
        cmocka_unit_test(test_control_lets_a_job_go_that_it_only_knows_from_the_store),
        cmocka_unit_test(test_control_takes_requests_that_come_too_late),
    };
    return cmocka_run_group_tests_name("control_releasing", tests, NULL, NULL);
}
