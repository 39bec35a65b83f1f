#include <semaphore.h>
#include <string.h>

#include "tests/scheduler/executor_fixtures.h"
#include "tests/scheduler/service_fixtures.h"

static void wake(void *self) { (void)sem_post(self); }

/* A run of a function of the model m on one row: 1, 2. */
static Error *make_run(ServiceFixture *fixture, const Caller *caller, const char *function,
    const char *input, bool brief, JobsApiRun *out_run) {
    const JobsApiClass *api = fixture->api.class_;
    Submission OWN_SUBMISSION(submission) = {0};
    ArrayList OWN_ARRAYS(inputs) = {0};
    JobsApiModel model = {0};
    const Shape shape = {.rank = 2, .dims = {1, 2}};
    TRY(api->find_model(fixture->api.self, caller, "m", &model));
    assert_int_equal(model.version, 1);
    fixture_add_floats(&inputs, input, &shape, 1);
    Error *error = submission_init(&submission, function, NULL);
    submission.brief = brief;
    if (!error) error = api->run(fixture->api.self, caller, &model, &submission, &inputs, out_run);
    executable_release(model.outline);
    return error;
}

static Error *make(ServiceFixture *fixture, const Caller *caller, const char *function,
    const char *input, JobsApiRun *out_run) {
    return make_run(fixture, caller, function, input, false, out_run);
}

static Error *make_brief(ServiceFixture *fixture, const char *function, JobsApiRun *out_run) {
    return make_run(fixture, &fixture->user, function, "a", true, out_run);
}

static Error *finish(JobsApiRun run, bool cut, ArrayList *out) {
    sem_t done;
    JobsApiRunTimes times;
    (void)sem_init(&done, 0, 0);
    run.begin(run.self, (HttpWaker){.wake = wake, .self = &done});
    run.help(run.self, false);
    if (cut) run.cut(run.self);
    while (sem_wait(&done) != 0) continue;
    (void)sem_destroy(&done);
    return run.end(run.self, out, &times);
}

static void test_job_service_runs_answer_without_a_row(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ArrayList OWN_ARRAYS(outputs) = {0};
    OWN(JobList, rows) = NULL;
    JobsApiRun run;
    service_fixture_init(&fixture);
    assert_ok(make(&fixture, &fixture.user, "four", "a", &run));
    assert_ok(finish(run, false, &outputs));
    assert_true(outputs.count == 1 && *(const float *)outputs.items[0].data == 4);
    assert_ok(jobs_list(fixture.node.store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &rows));
    assert_int_equal(rows->count, 0);
}

static void test_job_service_runs_end_when_they_are_cut(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ArrayList OWN_ARRAYS(outputs) = {0};
    JobsApiRun run;
    service_fixture_init(&fixture);
    assert_ok(make(&fixture, &fixture.user, "forever", "a", &run));
    assert_fails(CANCELLED, finish(run, true, &outputs));
    assert_ok(make(&fixture, &fixture.user, "forever", "a", &run));
    run.drop(run.self); /* never begun */
}

/* A brief run is computed by the thread that is lent to it, and by no other: it has ended when the
 * thread comes back. A run that takes longer gives the thread back and goes on elsewhere. */
static void test_job_service_runs_take_a_lent_thread_for_a_while(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ArrayList OWN_ARRAYS(outputs) = {0};
    JobsApiRunTimes times;
    JobsApiRun run;
    sem_t done;
    service_fixture_init(&fixture);
    assert_ok(make(&fixture, &fixture.user, "four", "a", &run));
    assert_ok(finish(run, false, &outputs)); /* the model's weights are there now */
    array_list_deinit(&outputs);
    outputs = (ArrayList){0};
    (void)sem_init(&done, 0, 0);
    assert_ok(make_brief(&fixture, "four", &run));
    run.begin(run.self, (HttpWaker){.wake = wake, .self = &done});
    run.help(run.self, true);
    while (sem_wait(&done) != 0) continue;
    assert_ok(run.end(run.self, &outputs, &times));
    assert_true(outputs.count == 1 && *(const float *)outputs.items[0].data == 4);
    assert_ok(make_brief(&fixture, "forever", &run));
    run.begin(run.self, (HttpWaker){.wake = wake, .self = &done});
    run.help(run.self, true);
    assert_int_not_equal(sem_trywait(&done), 0);
    run.cut(run.self);
    while (sem_wait(&done) != 0) continue;
    (void)sem_destroy(&done);
    array_list_deinit(&outputs);
    outputs = (ArrayList){0};
    assert_fails(CANCELLED, run.end(run.self, &outputs, &times));
}

static void test_job_service_runs_refuse_what_does_not_fit(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiRun run;
    service_fixture_init(&fixture);
    assert_fails(NOT_FOUND, make(&fixture, &fixture.stranger, "four", "a", &run));
    assert_fails(NOT_FOUND, make(&fixture, &fixture.user, "absent", "a", &run));
    assert_fails_saying(INVALID, "no input b", make(&fixture, &fixture.user, "four", "b", &run));
}

int test_job_service_runs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_runs_answer_without_a_row),
        cmocka_unit_test(test_job_service_runs_end_when_they_are_cut),
        cmocka_unit_test(test_job_service_runs_take_a_lent_thread_for_a_while),
        cmocka_unit_test(test_job_service_runs_refuse_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("job_service_runs", tests, NULL, NULL);
}
