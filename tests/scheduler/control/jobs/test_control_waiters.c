#include "scheduler/control/jobs/control_waiters.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

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

/* Nothing is stored from when it is held to when it is released. */
typedef struct HeldCatalog {
    Catalog *catalog;
    sem_t held, release;
    pthread_t thread;
} HeldCatalog;

static Error *wait_for_release(Connection *catalog, void *context) {
    HeldCatalog *hold = context;
    (void)catalog;
    (void)sem_post(&hold->held);
    while (sem_wait(&hold->release) != 0) continue;
    return NULL;
}

static void *hold_catalog(void *argument) {
    HeldCatalog *hold = argument;
    assert_ok(catalog_run(hold->catalog, wait_for_release, hold));
    return NULL;
}

static void begin_hold(HeldCatalog *hold, Catalog *catalog) {
    hold->catalog = catalog;
    assert_int_equal(sem_init(&hold->held, 0, 0), 0);
    assert_int_equal(sem_init(&hold->release, 0, 0), 0);
    assert_int_equal(pthread_create(&hold->thread, NULL, hold_catalog, hold), 0);
    while (sem_wait(&hold->held) != 0) continue;
}

static void end_hold(HeldCatalog *hold) {
    assert_int_equal(sem_post(&hold->release), 0);
    (void)pthread_join(hold->thread, NULL);
    (void)sem_destroy(&hold->held);
    (void)sem_destroy(&hold->release);
}

/* An answer that comes on the control thread. */
typedef struct Answer {
    sem_t given;
    Error *error;
} Answer;

static void take_answer(void *context, Error *owned_error) {
    Answer *answer = context;
    answer->error = owned_error;
    (void)sem_post(&answer->given);
}

/* The request is before the control thread when this returns. */
static void ask_cancel(Control *control, JobId job, Answer *answer) {
    assert_int_equal(sem_init(&answer->given, 0, 0), 0);
    assert_ok(control_ask(control, CONTROL_ASK_CANCEL, TENANT_DEFAULT, job, take_answer, answer));
}

/* Returns the answer's error. */
static Error *wait_answer(Answer *answer) {
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 100;
    assert_int_equal(sem_timedwait(&answer->given, &end), 0);
    (void)sem_destroy(&answer->given);
    return answer->error;
}

/* Waits until no job waits, runs or is suspended: what is left is being stored, or is stored. Gives
 * up after some seconds, since a job that has something to store before its end does not come to
 * the end while the catalog is held: the test asserts what holds for both. */
static void wait_for_ends(ControlFixture *fixture) {
    ControlTenantStatus status = {0};
    for (int i = 0; i < 3000; i++) {
        control_get_tenant(fixture->control, TENANT_DEFAULT, &status);
        if (status.waiting + status.running + status.suspended == 0) return;
        fixture_pause_ms(1);
    }
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
    bool resumed = false;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    for (long pause_ms = 10; pause_ms < 1000 && !resumed; pause_ms *= 2) {
        HeldCatalog hold;
        Answer cancelled;
        JobId id;
        Job job;
        assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
        assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
        begin_hold(&hold, fixture.catalog);
        Asker resumes = {.control = fixture.control, .job = id};
        assert_int_equal(pthread_create(&resumes.thread, NULL, resume, &resumes), 0);
        fixture_pause_ms(pause_ms); /* the resume's row is with the catalog, or comes too late */
        ask_cancel(fixture.control, id, &cancelled);
        end_hold(&hold);
        (void)pthread_join(resumes.thread, NULL);
        resumed = !resumes.error;
        assert_true(resumed || error_code(resumes.error) == ERROR_CONFLICT);
        error_free(resumes.error);
        assert_ok(wait_answer(&cancelled));
        assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
        assert_int_equal(job.state, JOB_STATE_CANCELLED);
    }
    assert_true(resumed);
}

/* A cancel that comes while the job's end is being stored comes too late, and is told so. */
static void test_control_answers_a_cancel_that_came_too_late(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    HeldCatalog hold;
    Answer cancelled;
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 2, false, NULL, &id));
    begin_hold(&hold, fixture.catalog);
    wait_for_ends(&fixture);
    ask_cancel(fixture.control, id, &cancelled);
    end_hold(&hold);
    OWN(Error, error) = wait_answer(&cancelled);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(error == NULL, job.state == JOB_STATE_CANCELLED);
    assert_true(job.state == JOB_STATE_CANCELLED || job.state == JOB_STATE_SUCCEEDED);
}

/* Requests for the same beyond a bound are refused at once; those within it get their answer. */
static void test_control_lets_few_wait_for_the_same(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    enum { MORE = 4, ASKERS = CONTROL_WAITERS_MAX + MORE };
    HeldCatalog hold;
    Answer answers[ASKERS];
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &id));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    begin_hold(&hold, fixture.catalog); /* so that no cancel is answered as done */
    for (int i = 0; i < ASKERS; i++) ask_cancel(fixture.control, id, &answers[i]);
    for (int i = CONTROL_WAITERS_MAX; i < ASKERS; i++)
        assert_fails_saying(EXHAUSTED, "wait already", wait_answer(&answers[i]));
    end_hold(&hold);
    for (int i = 0; i < CONTROL_WAITERS_MAX; i++) assert_ok(wait_answer(&answers[i]));
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
