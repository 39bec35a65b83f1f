#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/database/alive_time.h"
#include "store/database/connection.h"
#include "store/jobs/job_events.h"
#include "store/jobs/job_outputs.h"
#include "tests/scheduler/service_fixtures.h"

static Error *verify(
    ServiceFixture *fixture, const char *job, int64_t from, JobsApiVerification *out) {
    return fixture->api.class_->verify(fixture->api.self, &fixture->user, job, from, out);
}

static Error *look(ServiceFixture *fixture, JobsApiVerification *inout) {
    char replay[JOBS_API_ID_SIZE];
    memcpy(replay, inout->replay, sizeof replay);
    return fixture->api.class_->verification(fixture->api.self, &fixture->user, replay, inout);
}

static void wait_for_end(ServiceFixture *fixture, JobsApiVerification *inout) {
    for (int i = 0; i < 60000; i++) {
        assert_ok(look(fixture, inout));
        if (strcmp(inout->state, "running") != 0) return;
        fixture_pause_ms(2);
    }
    fail();
}

static void change(ServiceFixture *fixture, const char *job, JobsApiChange what) {
    const JobsApiChangeOptions options = {0};
    JobsApiJob ignored;
    assert_ok(fixture->api.class_->change(
        fixture->api.self, &fixture->user, job, what, &options, &ignored));
}

static JobId parse(const char *text) {
    JobId id;
    assert_true(job_id_parse(text, &id));
    return id;
}

static size_t count_events(
    ServiceFixture *fixture, const char *job, JobEventKind kind, const char *words) {
    OWN(JobEventList, events) = NULL;
    size_t count = 0;
    assert_ok(job_events_list(fixture->node.store, TENANT_DEFAULT, parse(job), 0, &events));
    for (size_t i = 0; i < events->count; i++)
        count += events->items[i].kind == kind && strstr(events->items[i].why, words);
    return count;
}

/* Suspended with its first outputs; false: it had ended before, on a machine that was busy. */
static bool begin_job(ServiceFixture *fixture, int64_t items, JobsApiJob *out) {
    assert_ok(service_fixture_submit(fixture, "slow", items, true, out));
    control_fixture_wait_outputs(&fixture->node, parse(out->job), 2);
    Error *error = control_suspend(fixture->node.control, TENANT_DEFAULT, parse(out->job));
    bool ended = error_code(error) == ERROR_CONFLICT;
    if (!ended) assert_ok(error);
    if (ended) error_free(error);
    return !ended;
}

/* With a checkpoint behind its first outputs. */
static void start_job(ServiceFixture *fixture, int64_t items, JobsApiJob *out) {
    while (!begin_job(fixture, items, out)) continue;
    change(fixture, out->job, JOBS_API_RESUME);
}

static void test_job_service_verifies_a_job_that_has_ended(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiVerification it;
    JobsApiJob job;
    service_fixture_init(&fixture);
    start_job(&fixture, 12, &job);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_ok(verify(&fixture, job.job, 0, &it));
    assert_string_equal(it.job, job.job);
    assert_string_equal(it.state, "running");
    assert_int_equal(it.checkpoint, 1);
    assert_true(it.outputs > 0 && it.outputs <= 10);
    wait_for_end(&fixture, &it);
    assert_string_equal(it.state, "equal");
    assert_int_equal(it.compared, it.outputs);
    assert_string_equal(it.determinism_class, it.replay_class); /* cpu and sim are of one */
    assert_fails(NOT_FOUND, look(&fixture, &it));
    assert_int_equal(count_events(&fixture, job.job, JOB_EVENT_NOTE, "came out the same again"), 1);
}

/* The job runs on; only what it had stored when it was asked for is compared. */
static void test_job_service_verifies_a_job_that_runs(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiVerification it;
    JobsApiJob job;
    service_fixture_init(&fixture);
    start_job(&fixture, 500, &job);
    Job stored;
    assert_ok(jobs_get(fixture.node.store, TENANT_DEFAULT, parse(job.job), &stored));
    control_fixture_wait_outputs(&fixture.node, parse(job.job), stored.output_count + 4);
    assert_ok(verify(&fixture, job.job, 1, &it));
    wait_for_end(&fixture, &it);
    assert_string_equal(it.state, "equal");
    assert_true(it.compared >= 1);
    change(&fixture, job.job, JOBS_API_CANCEL);
}

/* Output 10 becomes what output 9 is. */
static Error *spoil_output(Connection *catalog, void *context) {
    (void)context;
    return connection_execute(catalog,
        "UPDATE contents SET (bytes, digest) = (SELECT bytes, digest FROM contents WHERE kind = 2 "
        "AND sequence = 10) WHERE kind = 2 AND sequence = 11");
}

static void test_job_service_tells_outputs_that_differ(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiVerification it;
    JobsApiJob job;
    service_fixture_init(&fixture);
    start_job(&fixture, 12, &job);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_ok(catalog_run(fixture.node.catalog, spoil_output, NULL));
    assert_ok(verify(&fixture, job.job, 0, &it));
    wait_for_end(&fixture, &it);
    assert_string_equal(it.state, "differs");
    assert_int_equal(it.sequence, 11); /* the last one: every checkpoint stands before it */
    assert_int_equal(
        count_events(&fixture, job.job, JOB_EVENT_DIVERGED, "output 11 came out differently"), 1);
}

static void test_job_service_ends_a_replay_that_is_cancelled(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiVerification it;
    JobsApiJob job;
    service_fixture_init(&fixture);
    start_job(&fixture, 12, &job);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_ok(verify(&fixture, job.job, 0, &it));
    change(&fixture, it.replay, JOBS_API_CANCEL);
    wait_for_end(&fixture, &it);
    assert_true(strcmp(it.state, "failed") == 0);
    assert_non_null(strstr(it.why, "the replay was ended"));
    JobsApiJob replay;
    assert_fails(
        NOT_FOUND, fixture.api.class_->get(fixture.api.self, &fixture.user, it.replay, &replay));
}

static void test_job_service_refuses_what_cannot_be_verified(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiVerification it;
    JobsApiJob job;
    service_fixture_init(&fixture);
    assert_ok(service_fixture_submit(&fixture, "four", 3, true, &job));
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_fails_saying(
        NOT_FOUND, "no checkpoint to replay it from", verify(&fixture, job.job, 0, &it));
    assert_fails(NOT_FOUND, verify(&fixture, "nonsense", 0, &it));
    memcpy(it.replay, job.job, sizeof it.replay);
    assert_fails_saying(NOT_FOUND, "replays no other", look(&fixture, &it));
    start_job(&fixture, 12, &job);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_fails_saying(NOT_FOUND, "has no checkpoint 9", verify(&fixture, job.job, 9, &it));
    assert_fails(NOT_FOUND,
        fixture.api.class_->verify(fixture.api.self, &fixture.stranger, job.job, 0, &it));
    assert_ok(verify(&fixture, job.job, 0, &it));
    JobsApiVerification other;
    assert_fails(NOT_FOUND,
        fixture.api.class_->verification(fixture.api.self, &fixture.stranger, it.replay, &other));
    assert_ok(fixture.api.class_->verify(
        fixture.api.self, &fixture.admin, job.job, 0, &other)); /* any tenant's */
    wait_for_end(&fixture, &it);
}

static Error *live(Connection *catalog, void *context) {
    double total_s;
    return alive_time_add(catalog, *(const double *)context, &total_s);
}

/* A daemon's turn, so long after the last one. */
static void turn(ServiceFixture *fixture, double passed_s) {
    assert_ok(catalog_run(fixture->node.catalog, live, &passed_s));
    assert_ok(job_service_settle_verifications(fixture->service));
}

static Error *date_ends(Connection *catalog, void *context) {
    const double *calendar_s = context;
    assert_true(isfinite(*calendar_s));
    char sql[96];
    (void)snprintf(sql, sizeof sql, "UPDATE jobs SET finished = %.17g WHERE finished IS NOT NULL",
        *calendar_s);
    assert_int_equal(sqlite3_exec(catalog->handle, sql, NULL, NULL, NULL), SQLITE_OK);
    return NULL;
}

/* As if the calendar had been set after all jobs ended. */
static void jump(ServiceFixture *fixture, double seconds) {
    double ended_s = clock_real().calendar_s(clock_real().self) - seconds;
    assert_ok(catalog_run(fixture->node.catalog, date_ends, &ended_s));
}

/* As after a client that was killed, or a daemon: the outcome is recorded, nothing stays behind. A
 * calendar that is set takes nothing away, and keeps nothing. */
static void test_job_service_settles_what_nobody_waits_for(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiVerification it;
    JobsApiJob job, replay;
    Job row;
    service_fixture_init(&fixture);
    start_job(&fixture, 12, &job);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_ok(verify(&fixture, job.job, 0, &it));
    memcpy(replay.job, it.replay, sizeof replay.job);
    service_fixture_wait(&fixture, "succeeded", &replay);
    turn(&fixture, 60); /* it may have ended a moment before, and be asked for */
    jump(&fixture, 86400);
    turn(&fixture, 59);
    assert_ok(jobs_get(fixture.node.store, TENANT_DEFAULT, parse(it.replay), &row));
    jump(&fixture, -86400);
    turn(&fixture, 1);
    assert_fails(NOT_FOUND, jobs_get(fixture.node.store, TENANT_DEFAULT, parse(it.replay), &row));
    assert_int_equal(count_events(&fixture, job.job, JOB_EVENT_NOTE, "came out the same again"), 1);
    turn(&fixture, 60);
}

int test_job_service_verifications(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_verifies_a_job_that_has_ended),
        cmocka_unit_test(test_job_service_verifies_a_job_that_runs),
        cmocka_unit_test(test_job_service_tells_outputs_that_differ),
        cmocka_unit_test(test_job_service_ends_a_replay_that_is_cancelled),
        cmocka_unit_test(test_job_service_refuses_what_cannot_be_verified),
        cmocka_unit_test(test_job_service_settles_what_nobody_waits_for),
    };
    return cmocka_run_group_tests_name("job_service_verifications", tests, NULL, NULL);
}
