#include <semaphore.h>

#include "tests/scheduler/service_fixtures.h"

static void post(void *self) { (void)sem_post(self); }

/* Begins, waits and ends. */
static Error *ask(ServiceFixture *fixture, const Caller *caller, const char *job,
    JobsApiQuestion what, bool *out_suspended) {
    JobsApiWait wait;
    sem_t done;
    TRY(fixture->api.class_->ask(fixture->api.self, caller, job, what, &wait));
    (void)sem_init(&done, 0, 0);
    wait.begin(wait.self, (HttpWaker){.wake = post, .self = &done});
    while (sem_wait(&done) != 0) continue;
    (void)sem_destroy(&done);
    return wait.end(wait.self, out_suspended);
}

static void test_job_service_waits_answer_what_came_of_it(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job;
    JobsApiWait dropped;
    bool suspended;
    const JobsApiClass *api;
    service_fixture_init(&fixture);
    api = fixture.api.class_;
    assert_ok(service_fixture_submit(&fixture, "slow", 60, true, &job));
    service_fixture_wait(&fixture, "running", &job);
    assert_ok(ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_CHECKPOINT, &suspended));
    assert_false(suspended);
    assert_ok(ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_RELEASE, &suspended));
    assert_true(suspended);
    assert_ok(api->get(fixture.api.self, &fixture.user, job.job, &job));
    assert_string_equal(job.state, "suspended");
    assert_ok(ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_RELEASE, &suspended));
    assert_false(suspended);      /* it was already */
    for (int i = 0; i < 200; i++) /* over before begin returns */
        assert_fails_saying(CONFLICT, "suspended",
            ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_SUSPEND, &suspended));
    assert_fails(
        NOT_FOUND, ask(&fixture, &fixture.stranger, job.job, JOBS_API_ASK_CANCEL, &suspended));
    assert_ok(api->ask(fixture.api.self, &fixture.user, job.job, JOBS_API_ASK_CANCEL, &dropped));
    dropped.drop(dropped.self);
    assert_ok(ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_CANCEL, &suspended));
    assert_ok(api->get(fixture.api.self, &fixture.user, job.job, &job));
    assert_string_equal(job.state, "cancelled");
    assert_fails(CONFLICT, ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_CANCEL, &suspended));
}

/* Neither those beyond the bound of waiters nor those within it get the submitted state for the
 * checkpoint that they asked for: a running job has none yet, and its kernel ends much later. */
static void test_job_service_waits_never_answer_with_an_older_state(void **state) {
    (void)state;
    enum { ASKERS = 80 };
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job;
    JobId id;
    JobsApiWait waits[ASKERS];
    sem_t done;
    bool suspended;
    const JobsApiClass *api;
    service_fixture_init(&fixture);
    api = fixture.api.class_;
    assert_ok(service_fixture_submit(&fixture, "kernel", 9000, false, &job));
    service_fixture_wait(&fixture, "running", &job);
    assert_true(job_id_parse(job.job, &id));
    control_fixture_wait_kernel(&fixture.node, id, "MatMul");
    (void)sem_init(&done, 0, 0);
    for (int i = 0; i < ASKERS; i++) {
        assert_ok(
            api->ask(fixture.api.self, &fixture.user, job.job, JOBS_API_ASK_CHECKPOINT, &waits[i]));
        waits[i].begin(waits[i].self, (HttpWaker){.wake = post, .self = &done});
    }
    for (int i = 0; i < ASKERS; i++)
        while (sem_wait(&done) != 0) continue;
    for (int i = 0; i < ASKERS; i++)
        assert_fails(EXHAUSTED, waits[i].end(waits[i].self, &suspended));
    (void)sem_destroy(&done);
    assert_ok(ask(&fixture, &fixture.user, job.job, JOBS_API_ASK_CANCEL, &suspended));
}

int test_job_service_waits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_waits_answer_what_came_of_it),
        cmocka_unit_test(test_job_service_waits_never_answer_with_an_older_state),
    };
    return cmocka_run_group_tests_name("job_service_waits", tests, NULL, NULL);
}
