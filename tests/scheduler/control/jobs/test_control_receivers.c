#include "scheduler/control/jobs/control_receivers.h"

#include <pthread.h>
#include <string.h>

#include "base/container_of.h"
#include "serialize/arrays/array_values.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/executor_fixtures.h"

/* A caller that waits for the end of a transient job. */
typedef struct Waiting {
    ControlReceiver receiver;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Submission submission;
    JobId job;
    uint32_t ends;
    ArrayList outputs;
    Error *error;
} Waiting;

static void receive(ControlReceiver *receiver, ControlEnd *end) {
    Waiting *waiting = CONTAINER_OF(receiver, Waiting, receiver);
    (void)pthread_mutex_lock(&waiting->mutex);
    waiting->ends++;
    waiting->outputs = *end->outputs;
    *end->outputs = (ArrayList){0};
    waiting->error = end->owned_error;
    (void)pthread_cond_signal(&waiting->changed);
    (void)pthread_mutex_unlock(&waiting->mutex);
}

static void deinit(Waiting *waiting) {
    assert_true(waiting->ends <= 1);
    submission_deinit(&waiting->submission);
    array_list_deinit(&waiting->outputs);
    error_free(waiting->error);
    (void)pthread_mutex_destroy(&waiting->mutex);
    (void)pthread_cond_destroy(&waiting->changed);
}
#define OWN_WAITING(name) __attribute__((cleanup(deinit))) name

/* Submits a job of a function of the fixture's model on one row: 1, 2. */
static void submit(ControlFixture *fixture, const char *function, Waiting *out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    OWN(Executable, outline) = NULL;
    const Shape shape = {.rank = 2, .dims = {1, 2}};
    const BatchOptions single = {0};
    *out = (Waiting){.receiver.receive = receive};
    (void)pthread_mutex_init(&out->mutex, NULL);
    (void)pthread_cond_init(&out->changed, NULL);
    Submission *job = &out->submission;
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(submission_init(job, function, NULL));
    job->tenant = TENANT_DEFAULT;
    job->priority = POLICY_HIGH;
    assert_ok(settings_cache_get_model(
        fixture->settings, TENANT_DEFAULT, "m", &job->executable, &outline));
    assert_ok(executable_find_function(outline, function, &job->function));
    assert_ok(batch_create(outline, job->function, &inputs, &single, &job->batch));
    job->live_bytes = batch_bytes(job->batch);
    out->job = control_next_transient(fixture->control);
    assert_ok(control_submit_transient(fixture->control, out->job, job, &out->receiver, false));
}

static void await(Waiting *waiting) {
    (void)pthread_mutex_lock(&waiting->mutex);
    while (!waiting->ends) (void)pthread_cond_wait(&waiting->changed, &waiting->mutex);
    (void)pthread_mutex_unlock(&waiting->mutex);
}

/* Until the job has come, and runs. */
static void await_running(ControlFixture *fixture, const Waiting *waiting) {
    ControlStatus status;
    while (!control_find_status(fixture->control, waiting->job, &status)) fixture_pause_ms(1);
    control_fixture_wait_running(fixture, waiting->job);
}

static size_t count_rows(ControlFixture *fixture) {
    OWN(JobList, rows) = NULL;
    assert_ok(jobs_list(fixture->store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 100, &rows));
    return rows->count;
}

static void test_control_receivers_get_outputs_and_failures(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    Waiting OWN_WAITING(works), OWN_WAITING(fails);
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    submit(&fixture, "four", &works);
    submit(&fixture, "fails", &fails);
    await(&works);
    await(&fails);
    assert_null(works.error);
    assert_int_equal(works.outputs.count, 1);
    assert_string_equal(works.outputs.items[0].name, "y");
    assert_true(*(const float *)works.outputs.items[0].data == 4);
    assert_int_equal(error_code(fails.error), ERROR_FAILED);
    assert_non_null(strstr(error_message(fails.error), "no luck"));
    assert_int_equal(count_rows(&fixture), 0);
}

/* A job that yields without end keeps its last output only, and can be cancelled. */
static void test_control_receivers_are_told_of_a_cancel(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    Waiting OWN_WAITING(endless), OWN_WAITING(yields);
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    submit(&fixture, "forever", &endless);
    submit(&fixture, "yields", &yields);
    await_running(&fixture, &yields);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, yields.job));
    assert_fails(NOT_FOUND, control_cancel(fixture.control, TENANT_DEFAULT + 1, endless.job));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, endless.job));
    await(&yields);
    await(&endless);
    assert_int_equal(error_code(yields.error), ERROR_CANCELLED);
    assert_int_equal(error_code(endless.error), ERROR_CANCELLED);
}

/* A stored job of a lower class gives the device up for a transient one, and loses nothing. */
static void test_control_receivers_come_before_batch_jobs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    Waiting OWN_WAITING(waiting);
    JobId batch;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 3, true, NULL, &batch));
    control_fixture_wait_running(&fixture, batch);
    submit(&fixture, "four", &waiting);
    await(&waiting);
    assert_null(waiting.error);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, batch, &job));
    assert_true(job_state_is_unfinished(job.state));
    control_fixture_wait(&fixture, batch, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, batch, 3, 2);
}

static void test_control_receivers_are_told_of_the_end_of_a_daemon(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    Waiting OWN_WAITING(drained), OWN_WAITING(late), OWN_WAITING(stopped);
    size_t left;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    submit(&fixture, "forever", &drained);
    await_running(&fixture, &drained);
    assert_ok(control_drain(fixture.control, 5000000000, &left));
    assert_int_equal(left, 0);
    await(&drained);
    assert_int_equal(error_code(drained.error), ERROR_UNREACHABLE);
    submit(&fixture, "four", &late);
    await(&late);
    assert_int_equal(error_code(late.error), ERROR_UNREACHABLE);
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    submit(&fixture, "forever", &stopped);
    await_running(&fixture, &stopped);
    control_fixture_stop(&fixture);
    assert_int_equal(stopped.ends, 1);
    assert_int_equal(error_code(stopped.error), ERROR_UNREACHABLE);
}

int test_control_receivers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_receivers_get_outputs_and_failures),
        cmocka_unit_test(test_control_receivers_are_told_of_a_cancel),
        cmocka_unit_test(test_control_receivers_come_before_batch_jobs),
        cmocka_unit_test(test_control_receivers_are_told_of_the_end_of_a_daemon),
    };
    return cmocka_run_group_tests_name("control_receivers", tests, NULL, NULL);
}
