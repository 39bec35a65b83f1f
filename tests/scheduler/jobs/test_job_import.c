#include "scheduler/jobs/job_import.h"

#include <string.h>

#include "serialize/checkpoint/checkpoint.h"
#include "store/jobs/job_events.h"
#include "tests/scheduler/job_file_fixtures.h"

enum { ROWS = 60 };

/* The same outputs as if nothing had happened, with the old ones or only those that come. */
static void test_job_import_goes_on_with_a_copy(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, whole, rest;
    Job job, made;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, control_fixture_cpu_and_sim);
    control_fixture_suspended(&fixture, ROWS, true, &id);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    const char *path = job_file_path(&fixture, "job.lvc");
    assert_ok(job_file_export(&fixture, id, false, path));
    assert_ok(job_file_import(&fixture, path, true, &whole));
    assert_ok(job_file_import(&fixture, path, false, &rest));
    control_fixture_wait(&fixture, whole, JOB_STATE_SUCCEEDED, &made);
    assert_int_equal(made.output_count, ROWS);
    assert_int_equal(made.items_done, ROWS);
    assert_int_equal(made.origin.kind, JOB_ORIGIN_COPY);
    assert_string_equal(made.model, "m@1");
    control_fixture_check(&fixture, whole, ROWS, 2);
    control_fixture_wait(&fixture, rest, JOB_STATE_SUCCEEDED, &made);
    assert_int_equal(made.items_total, ROWS - job.items_done);
    assert_int_equal(made.output_count, ROWS - job.items_done);
    ArrayList OWN_ARRAYS(first) = {0};
    control_fixture_output(&fixture, rest, 0, &first);
    assert_true(*(const float *)first.items[0].data == 2 * (float)(2 * job.items_done + 1));
}

/* A fixture with a job that is suspended in the middle, and a file with a copy of it. */
static const char *begin_with_a_copy(ControlFixture *fixture, JobId *out_id) {
    control_fixture_init(fixture);
    control_fixture_start(fixture, NULL);
    control_fixture_suspended(fixture, ROWS, true, out_id);
    const char *path = job_file_path(fixture, "job.lvc");
    assert_ok(job_file_export(fixture, *out_id, false, path));
    return path;
}

/* Killed at any point behind the restore, it goes on from the file's point, not from the start. */
static void test_job_import_is_stored_before_it_runs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, made;
    Job job;
    const char *path = begin_with_a_copy(&fixture, &id);
    assert_ok(job_file_import(&fixture, path, true, &made));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_wait(&fixture, made, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, made, ROWS, 2);
}

static void test_job_import_takes_a_job_over_once(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, back;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, ROWS, true, &id);
    const char *path = job_file_path(&fixture, "job.lvc");
    assert_ok(control_freeze(fixture.control, TENANT_DEFAULT, id));
    assert_ok(job_file_export(&fixture, id, true, path));
    assert_fails(CONFLICT, job_file_import(&fixture, path, false, &back));
    assert_ok(control_release_to_file(fixture.control, TENANT_DEFAULT, id));
    assert_ok(job_file_import(&fixture, path, false, &back));
    assert_true(job_id_equal(id, back));
    assert_fails(CONFLICT, job_file_import(&fixture, path, false, &back));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.epoch, 1);
    control_fixture_check(&fixture, id, ROWS, 2); /* its outputs are its own */
}

/* A file of the job that says it owns another one. */
static const char *forge(const ControlFixture *fixture, const Container *container,
    const JobFile *file, JobId id, int64_t epoch) {
    const char *path = job_file_path(fixture, "forged.lvc");
    JobFile forged = *file;
    forged.origin = (JobFileOrigin){id.node, id.number, epoch, JOB_FILE_RELEASE};
    job_file_forge(path, &forged, container);
    return path;
}

/* Anybody can write a file: its word for whose job it owns is not enough. */
static void test_job_import_keeps_no_id_that_nobody_vouches_for(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(Container, container) = NULL;
    JobFile OWN_JOB_FILE(file) = {0};
    JobId id, made;
    Job job;
    const char *path = begin_with_a_copy(&fixture, &id);
    assert_ok(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    assert_ok(job_file_read(container, &file));
    const JobId other = {id.node ^ 1, 7}, next = {id.node, id.number + 1};
    path = forge(&fixture, container, &file, next, 0); /* the id that is given next */
    assert_fails_saying(
        CONFLICT, "went from this home", job_file_import(&fixture, path, false, &made));
    path = forge(&fixture, container, &file, other, INT64_MAX);
    assert_fails(CORRUPT, job_file_import(&fixture, path, false, &made));
    path = forge(&fixture, container, &file, other, INT64_MAX - 1);
    assert_ok(job_file_import(&fixture, path, false, &made));
    assert_true(job_id_equal(made, next));
    control_fixture_wait(&fixture, made, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, made, ROWS, 2);
    assert_true(job_id_equal(job.origin.job, other));
    path = forge(&fixture, container, &file, other, 3);
    assert_fails_saying(CONFLICT, "here already", job_file_import(&fixture, path, false, &made));
    const JobId known = {other.node, 8};
    const JobImportRequest wanted = {
        .tenant = TENANT_DEFAULT, .path = forge(&fixture, container, &file, known, 3)};
    OWN(JobImportState, import) = NULL;
    assert_ok(job_import_open(fixture.store, NULL, &wanted, &import));
    job_import_vouch(import);
    assert_ok(job_import_submit(import, fixture.control, &made));
    assert_true(job_id_equal(made, known));
    control_fixture_wait(&fixture, made, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.epoch, 4);
}

/* What the restorer asks for counts, and quotas hold before anything is stored. */
static void test_job_import_is_admitted_like_a_submission(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, made;
    OWN(JobList, jobs) = NULL;
    const char *path = begin_with_a_copy(&fixture, &id);
    JobImportRequest wanted = {.tenant = TENANT_DEFAULT, .path = path, .device = "sim:7"};
    Store *store = fixture.store;
    Control *control = fixture.control;
    assert_fails(NOT_FOUND, job_import_restore(control, store, NULL, &wanted, &made));
    wanted.device = NULL;
    wanted.suspend_after = 5;
    assert_fails_saying(INVALID, "batch", job_import_restore(control, store, NULL, &wanted, &made));
    wanted.path = job_file_path(&fixture, "missing.lvc");
    assert_fails(NOT_FOUND, job_import_restore(control, store, NULL, &wanted, &made));
    assert_ok(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &jobs));
    assert_int_equal(jobs->count, 1);
}

int test_job_import(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_import_goes_on_with_a_copy),
        cmocka_unit_test(test_job_import_is_stored_before_it_runs),
        cmocka_unit_test(test_job_import_takes_a_job_over_once),
        cmocka_unit_test(test_job_import_keeps_no_id_that_nobody_vouches_for),
        cmocka_unit_test(test_job_import_is_admitted_like_a_submission),
    };
    return cmocka_run_group_tests_name("job_import", tests, NULL, NULL);
}
