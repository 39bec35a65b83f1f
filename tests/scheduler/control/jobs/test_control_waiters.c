#include "scheduler/control/jobs/control_waiters.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "tests/scheduler/control_fixtures.h"

typedef struct Asker {
    Control *control;
    JobId job;
    bool cancels;
    Error *error;
    pthread_t thread;
} Asker;

static void *ask(void *argument) {
    Asker *asker = argument;
    asker->error = asker->cancels ? control_cancel(asker->control, TENANT_DEFAULT, asker->job)
                                  : control_suspend(asker->control, TENANT_DEFAULT, asker->job);
    return NULL;
}

/* Many ask for the same and for its opposite at once: each gets an answer that fits what became of
 * the job, and the daemon stays. */
static void test_control_bears_requests_that_cross(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    enum { ASKERS = 6 };
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int round = 0; round < 20; round++) {
        Asker askers[ASKERS];
        JobId id;
        Job job;
        assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
        for (int i = 0; i < ASKERS; i++) {
            askers[i] = (Asker){fixture.control, id, round % 2 && i % 3 == 2, NULL, 0};
            assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
        }
        int done = 0;
        for (int i = 0; i < ASKERS; i++) {
            (void)pthread_join(askers[i].thread, NULL);
            done += !askers[i].error;
            ErrorCode code = error_code(askers[i].error); /* too late, or too many that wait */
            if (askers[i].error) assert_true(code == ERROR_CONFLICT || code == ERROR_EXHAUSTED);
            error_free(askers[i].error);
        }
        assert_true(done > 0);
        assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
        if (round % 2 == 0) assert_int_equal(job.state, JOB_STATE_SUSPENDED);
        if (job.state == JOB_STATE_SUSPENDED)
            assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    }
    assert_ok(control_check(fixture.control));
}

static Error *wait_for_release(Connection *catalog, void *context) {
    (void)catalog;
    while (sem_wait(context) != 0) continue;
    return NULL;
}

static void *hold_catalog(void *argument) {
    ControlFixture *fixture = ((void **)argument)[0];
    assert_ok(catalog_run(fixture->catalog, wait_for_release, ((void **)argument)[1]));
    return NULL;
}

static void *resume(void *argument) {
    Asker *asker = argument;
    asker->error = control_resume(asker->control, TENANT_DEFAULT, asker->job, NULL);
    return NULL;
}

/* A cancel that comes while a resume is being stored is answered when it is stored itself: the
 * state before it is not its answer. */
static void test_control_answers_a_cancel_with_its_own_state(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    sem_t release;
    pthread_t holder;
    JobId id;
    Job job;
    void *hold[2] = {&fixture, &release};
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_int_equal(sem_init(&release, 0, 0), 0);
    assert_int_equal(pthread_create(&holder, NULL, hold_catalog, hold), 0);
    fixture_pause_ms(50);
    Asker resumes = {.control = fixture.control, .job = id};
    Asker cancels = {.control = fixture.control, .job = id, .cancels = true};
    assert_int_equal(pthread_create(&resumes.thread, NULL, resume, &resumes), 0);
    fixture_pause_ms(50); /* its row is with the catalog */
    assert_int_equal(pthread_create(&cancels.thread, NULL, ask, &cancels), 0);
    fixture_pause_ms(50); /* it waits beside the resume */
    assert_int_equal(sem_post(&release), 0);
    (void)pthread_join(holder, NULL);
    (void)pthread_join(resumes.thread, NULL);
    (void)pthread_join(cancels.thread, NULL);
    assert_ok(resumes.error);
    assert_ok(cancels.error);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    (void)sem_destroy(&release);
}

/* A cancel that comes while the job's end is being stored comes too late, and is told so. */
static void test_control_answers_a_cancel_that_came_too_late(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    sem_t release;
    pthread_t holder;
    JobId id;
    Job job;
    void *hold[2] = {&fixture, &release};
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 2, false, NULL, &id));
    assert_int_equal(sem_init(&release, 0, 0), 0);
    assert_int_equal(pthread_create(&holder, NULL, hold_catalog, hold), 0);
    fixture_pause_ms(600); /* it has run to its end, or will be cancelled before */
    Asker cancels = {.control = fixture.control, .job = id, .cancels = true};
    assert_int_equal(pthread_create(&cancels.thread, NULL, ask, &cancels), 0);
    fixture_pause_ms(50);
    assert_int_equal(sem_post(&release), 0);
    (void)pthread_join(holder, NULL);
    (void)pthread_join(cancels.thread, NULL);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(cancels.error == NULL, job.state == JOB_STATE_CANCELLED);
    assert_true(job.state == JOB_STATE_CANCELLED || job.state == JOB_STATE_SUCCEEDED);
    error_free(cancels.error);
    (void)sem_destroy(&release);
}

/* Who asks again and again for the same does not hold ever more threads. */
static void test_control_lets_few_wait_for_the_same(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    enum { ASKERS = 12 };
    Asker askers[ASKERS];
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (Asker){fixture.control, id, true, NULL, 0};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    int done = 0;
    for (int i = 0; i < ASKERS; i++) {
        (void)pthread_join(askers[i].thread, NULL);
        done += !askers[i].error;
        ErrorCode code = error_code(askers[i].error); /* too many that wait, or it is cancelled */
        if (askers[i].error) assert_true(code == ERROR_EXHAUSTED || code == ERROR_CONFLICT);
        error_free(askers[i].error);
    }
    assert_in_range(done, 1, CONTROL_WAITERS_MAX);
}

int test_control_waiters(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_bears_requests_that_cross),
        cmocka_unit_test(test_control_answers_a_cancel_with_its_own_state),
        cmocka_unit_test(test_control_answers_a_cancel_that_came_too_late),
        cmocka_unit_test(test_control_lets_few_wait_for_the_same),
    };
    return cmocka_run_group_tests_name("control_waiters", tests, NULL, NULL);
}
