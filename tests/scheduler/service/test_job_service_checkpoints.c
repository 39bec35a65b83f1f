#include <stdio.h>
#include <string.h>

#include "store/database/store_connections_internal.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/service_fixtures.h"

static const JobsApiChangeOptions newest = {0};

static Error *change(ServiceFixture *fixture, JobsApiChange kind, JobsApiJob *inout_job) {
    char id[JOBS_API_ID_SIZE];
    memcpy(id, inout_job->job, sizeof id);
    return fixture->api.class_->change(
        fixture->api.self, &fixture->user, id, kind, &newest, inout_job);
}

static Error *save(ServiceFixture *fixture, const Caller *caller, const char *job, int64_t from,
    bool release, const char *path) {
    const JobsApiCheckpointOptions options = {.checkpoint = from, .release = release};
    HttpStream stream = {0};
    TRY(fixture->api.class_->checkpoint(fixture->api.self, caller, job, &options, path, &stream));
    return stream.pull ? job_file_pull(&stream, path) : NULL;
}

static Error *load(ServiceFixture *fixture, const char *path, JobsApiJob *out_job) {
    const JobsApiRestoreOptions options = {.with_outputs = true, .suspend_after_ms = -1};
    return fixture->api.class_->restore(fixture->api.self, &fixture->user, path, &options, out_job);
}

static void make_path(const ServiceFixture *fixture, char out[192]) {
    (void)snprintf(out, 192, "%s/job.lvc", fixture->node.folder);
}

/* Running, suspended, not begun: a copy of each; ended: none. */
static void test_job_service_writes_jobs_of_every_unfinished_state(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job, made, waiting;
    char path[192];
    service_fixture_init(&fixture);
    make_path(&fixture, path);
    assert_ok(service_fixture_submit(&fixture, "slow", 30, true, &job));
    service_fixture_wait(&fixture, "running", &job);
    assert_fails(NOT_FOUND, save(&fixture, &fixture.stranger, job.job, 0, false, path));
    assert_fails(NOT_FOUND, save(&fixture, &fixture.user, job.job, 99, false, path));
    assert_ok(save(&fixture, &fixture.user, job.job, 0, false, path));
    assert_ok(load(&fixture, path, &made));
    assert_string_not_equal(made.job, job.job);
    service_fixture_wait(&fixture, "succeeded", &made);
    assert_int_equal(made.outputs, 30);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_fails_saying(
        CONFLICT, "succeeded", save(&fixture, &fixture.user, job.job, 0, false, path));
    assert_fails_saying(
        CONFLICT, "succeeded", save(&fixture, &fixture.user, job.job, 0, true, path));
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &job));
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &made));
    /* devices are taken; where it gets its turn nevertheless it has not ended */
    assert_ok(service_fixture_submit(&fixture, "slow", 30, true, &waiting));
    assert_ok(save(&fixture, &fixture.user, waiting.job, 0, false, path));
    assert_ok(load(&fixture, path, &made));
    service_fixture_wait(&fixture, "succeeded", &made);
    assert_int_equal(made.outputs, 30);
}

/* Until its data goes a released job's file can be had again; then the tombstone stays. */
static void test_job_service_releases_and_forgets(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job, made;
    char path[192];
    service_fixture_init(&fixture);
    make_path(&fixture, path);
    assert_ok(service_fixture_submit(&fixture, "slow", 30, true, &job));
    service_fixture_wait(&fixture, "running", &job);
    assert_fails_saying(INVALID, "newest", save(&fixture, &fixture.user, job.job, 1, true, path));
    assert_ok(save(&fixture, &fixture.user, job.job, 0, true, path));
    service_fixture_wait(&fixture, "released", &job);
    assert_fails(CONFLICT, change(&fixture, JOBS_API_RESUME, &job));
    assert_fails(CONFLICT, save(&fixture, &fixture.user, job.job, 0, false, path));
    assert_ok(save(&fixture, &fixture.user, job.job, 0, true, path));
    assert_ok(change(&fixture, JOBS_API_REMOVE, &job));
    service_fixture_wait(&fixture, "released", &job);
    assert_fails(CONFLICT, save(&fixture, &fixture.user, job.job, 0, true, path));
    assert_fails(CONFLICT, change(&fixture, JOBS_API_REMOVE, &job));
    assert_ok(load(&fixture, path, &made));
    assert_string_equal(made.job, job.job);
    service_fixture_wait(&fixture, "succeeded", &job);
    assert_int_equal(job.outputs, 30);
}

static Error *damage(Connection *catalog, void *context) {
    (void)context;
    return connection_execute(
        catalog, "UPDATE executables SET manifest = CAST(manifest || x'00' AS BLOB)");
}

static Error *mend(Connection *catalog, void *context) {
    (void)context;
    return connection_execute(
        catalog, "UPDATE executables SET manifest = substr(manifest, 1, length(manifest) - 1)");
}

/* The file would have the model, whose manifest is not what it was. */
static Error *release_damaged(ServiceFixture *fixture, const char *job) {
    const JobsApiCheckpointOptions options = {.release = true, .with_model = true};
    HttpStream stream = {0};
    assert_ok(catalog_run(fixture->node.catalog, damage, NULL));
    Error *error = fixture->api.class_->checkpoint(
        fixture->api.self, &fixture->user, job, &options, NULL, &stream);
    assert_true(!stream.pull);
    assert_ok(catalog_run(fixture->node.catalog, mend, NULL));
    return error;
}

/* A failed export gives the job back as it was. */
static void test_job_service_keeps_the_job_when_there_is_no_file(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job;
    service_fixture_init(&fixture);
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &job));
    service_fixture_wait(&fixture, "running", &job);
    assert_fails(CORRUPT, release_damaged(&fixture, job.job));
    service_fixture_wait(&fixture, "running", &job);
    assert_ok(change(&fixture, JOBS_API_SUSPEND, &job));
    assert_fails(CORRUPT, release_damaged(&fixture, job.job));
    service_fixture_wait(&fixture, "suspended", &job);
    assert_ok(change(&fixture, JOBS_API_RESUME, &job));
}

static void test_job_service_suspends_after_a_count(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ByteWriter OWN_BYTES(inputs) = {0};
    JobsApiJob job;
    char path[192];
    service_fixture_init(&fixture);
    make_path(&fixture, path);
    service_fixture_inputs(1, &inputs);
    Submission OWN_SUBMISSION(counted) = {0};
    control_fixture_submission("m", "slow", &inputs, &counted);
    counted.policy.suspend_at = 1234;
    const JobsApiClass *api = fixture.api.class_;
    assert_ok(api->submit(fixture.api.self, &fixture.user, &counted, &job));
    service_fixture_wait(&fixture, "suspended", &job);
    assert_int_equal(job.instructions, 1234);
    assert_ok(save(&fixture, &fixture.user, job.job, 0, false, path));
    const JobsApiRestoreOptions options = {.suspend_after = 66, .suspend_after_ms = -1};
    JobsApiJob made;
    assert_ok(api->restore(fixture.api.self, &fixture.user, path, &options, &made));
    service_fixture_wait(&fixture, "suspended", &made);
    assert_int_equal(made.instructions, 1300);
    assert_ok(change(&fixture, JOBS_API_RESUME, &job));
    service_fixture_wait(&fixture, "succeeded", &job); /* only once */
    Submission OWN_SUBMISSION(timed) = {0};
    control_fixture_submission("m", "forever", &inputs, &timed);
    timed.policy.suspend_after_ns = job_policy_suspend_ns(1);
    assert_ok(api->submit(fixture.api.self, &fixture.user, &timed, &job));
    service_fixture_wait(&fixture, "suspended", &job);
    Submission OWN_SUBMISSION(batch) = {0};
    control_fixture_submission("m", "forever", &inputs, &batch);
    batch.policy.suspend_after_ns = job_policy_suspend_ns(1);
    batch.policy.items = true;
    assert_fails_saying(
        INVALID, "batch", api->submit(fixture.api.self, &fixture.user, &batch, &job));
}

int test_job_service_checkpoints(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_writes_jobs_of_every_unfinished_state),
        cmocka_unit_test(test_job_service_releases_and_forgets),
        cmocka_unit_test(test_job_service_keeps_the_job_when_there_is_no_file),
        cmocka_unit_test(test_job_service_suspends_after_a_count),
    };
    return cmocka_run_group_tests_name("job_service_checkpoints", tests, NULL, NULL);
}
