#include "scheduler/control/jobs/control_commits.h"

#include <string.h>
#include <time.h>

#include "scheduler/control/jobs/control_waiters.h"
#include "store/jobs/job_checkpoints.h"
#include "store/accounts/tenants.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/store/kvfs.h"

static Error *set_quota(Connection *catalog, void *context) {
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_STORE_BYTES, *(const int64_t *)context);
}

/* Runs a job until its outputs have no more room. The room ends while the job is suspended: on a
 * busy machine a running job could come to its end first. */
static void run_out_of_room(ControlFixture *fixture, JobId *out_id) {
    Tenant tenant;
    ControlStatus status = {0};
    control_fixture_init(fixture);
    control_fixture_start(fixture, NULL);
    control_fixture_suspended(fixture, 40, true, out_id);
    assert_ok(tenants_get(fixture->store, TENANT_DEFAULT, &tenant));
    int64_t full = (int64_t)tenant.bytes_stored;
    assert_ok(catalog_run(fixture->catalog, set_quota, &full));
    assert_ok(control_resume(fixture->control, TENANT_DEFAULT, *out_id, NULL));
    for (int i = 0; i < 6000 && !status.halted; i++) {
        const struct timespec pause = {.tv_nsec = 2000000};
        assert_true(control_find_status(fixture->control, *out_id, &status));
        (void)nanosleep(&pause, NULL);
    }
    assert_true(status.halted && !status.running);
    assert_non_null(strstr(status.why, "waits until its data can be stored"));
}

/* A job whose outputs have no room is suspended, says why, loses nothing, and goes on when there is
 * room and somebody says so. */
static void test_control_suspends_a_job_that_has_no_room(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(JobEventList, events) = NULL;
    JobId id;
    Job job;
    int64_t unlimited = QUOTA_UNLIMITED;
    run_out_of_room(&fixture, &id);
    assert_fails_saying(
        EXHAUSTED, "store_bytes", control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    assert_ok(catalog_run(fixture.catalog, set_quota, &unlimited));
    control_fixture_wait(&fixture, id, JOB_STATE_SUSPENDED, &job);
    assert_ok(job_events_list(fixture.store, TENANT_DEFAULT, id, 0, &events));
    assert_non_null(
        strstr(events->items[events->count - 1].why, "its data could not be stored: tenant"));
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 40);
    control_fixture_check(&fixture, id, 40, 2);
}

/* Room again, and resumed before the daemon noticed. */
static void test_control_stores_and_resumes_at_once(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    int64_t unlimited = QUOTA_UNLIMITED;
    run_out_of_room(&fixture, &id);
    assert_ok(catalog_run(fixture.catalog, set_quota, &unlimited));
    Error *error = control_resume(fixture.control, TENANT_DEFAULT, id, NULL);
    assert_true(!error || error_code(error) == ERROR_CONFLICT); /* a busy machine: only its end was
                                                                   left to be stored */
    error_free(error);
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture, id, 40, 2);
}

/* A resume that could not be stored at first resumes once: the next suspend is not undone. */
static void test_control_suspends_after_a_resume_that_waited_for_room(void **state) {
    (void)state;
    kvfs_install();
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    kvfs_arm(KVFS_FULL, 1, true, 0);
    assert_fails(EXHAUSTED, control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    kvfs_arm(KVFS_NONE, 0, false, 0);
    error_free(control_resume(fixture.control, TENANT_DEFAULT, id, NULL)); /* or it was retried */
    control_fixture_wait(&fixture, id, JOB_STATE_QUEUED, &job);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
    control_fixture_wait(&fixture, id, JOB_STATE_SUSPENDED, &job);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
}

static void wait_for_why(ControlFixture *fixture, JobId id, const char *text) {
    ControlStatus status = {0};
    for (int i = 0; i < 6000 && !strstr(status.why, text); i++) {
        const struct timespec pause = {.tv_nsec = 2000000};
        assert_true(control_find_status(fixture->control, id, &status));
        (void)nanosleep(&pause, NULL);
    }
    assert_non_null(strstr(status.why, text));
}

/* A job that gives without end goes on as fast as that is stored. Without room it stops; who wants
 * it suspended is told so at once, who wants it gone needs no room. */
static void test_control_stops_a_job_that_gives_without_end(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    Tenant tenant;
    ControlStatus before, after;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "yields", 2, false, NULL, &id));
    control_fixture_wait_outputs(&fixture, id, CONTROL_OUTPUTS_MAX * 3);
    assert_ok(tenants_get(fixture.store, TENANT_DEFAULT, &tenant));
    int64_t full = (int64_t)tenant.bytes_stored;
    assert_ok(catalog_run(fixture.catalog, set_quota, &full));
    wait_for_why(&fixture, id, "waits until its data can be stored");
    before = (ControlStatus){.running = true};
    for (int i = 0; i < 60000 && (before.running || !before.halted); i++) {
        assert_true(control_find_status(fixture.control, id, &before));
        fixture_pause_ms(2);
    }
    assert_true(before.halted && !before.running); /* what was on its way has come back */
    fixture_pause_ms(100);
    assert_true(control_find_status(fixture.control, id, &after));
    assert_true(after.device_seconds == before.device_seconds);
    assert_fails_saying(
        EXHAUSTED, "store_bytes", control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_true(job.output_count >= CONTROL_OUTPUTS_MAX * 3);
    assert_ok(control_check(fixture.control));
}

/* Nothing can be written, not even that a job is cancelled: whoever asks is told so and does not
 * wait for room. What was not written is not so for whoever comes after a crash; with room it
 * becomes so by itself. */
static void test_control_answers_who_cancels_on_a_full_disk(void **state) {
    (void)state;
    kvfs_install();
    ControlFixture OWN_CONTROL(fixture);
    JobId running, suspended;
    Job job;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, 40, true, &suspended);
    assert_ok(control_fixture_submit(&fixture, "slow", 40, true, NULL, &running));
    control_fixture_wait_outputs(&fixture, running, 1);
    kvfs_arm(KVFS_FULL, 1, true, 0);
    for (int i = 0; i < 2 * CONTROL_WAITERS_MAX; i++) { /* none of them is left waiting */
        assert_fails_saying(EXHAUSTED, "cancelled when there is room: catalog.db: no space left",
            control_cancel(fixture.control, TENANT_DEFAULT, running));
        assert_fails_saying(EXHAUSTED, "cancelled when there is room: catalog.db: no space left",
            control_cancel(fixture.control, TENANT_DEFAULT, suspended));
    }
    assert_fails_saying(
        EXHAUSTED, "no space left", control_suspend(fixture.control, TENANT_DEFAULT, running));
    assert_fails_saying(EXHAUSTED, "no space left",
        control_resume(fixture.control, TENANT_DEFAULT, suspended, NULL));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, running, &job));
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, suspended, &job));
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    kvfs_arm(KVFS_NONE, 0, false, 0);
    control_fixture_wait(&fixture, running, JOB_STATE_CANCELLED, &job);
    assert_true(job.output_count >= 1);
    control_fixture_wait(&fixture, suspended, JOB_STATE_CANCELLED, &job);
    assert_ok(control_check(fixture.control));
}

/* A checkpoint of a running job comes with all outputs before it. */
static void test_control_stores_checkpoints_with_their_outputs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(JobCheckpointList, list) = NULL;
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "slow", 200, true, NULL, &id));
    control_fixture_wait_outputs(&fixture, id, 2);
    for (int i = 0; i < 4; i++) assert_ok(control_checkpoint(fixture.control, TENANT_DEFAULT, id));
    assert_ok(job_checkpoints_list(fixture.store, TENANT_DEFAULT, id, &list));
    assert_int_equal(list->count, 2); /* checkpoint_keep */
    assert_true(list->items[1].number >= 4);
    assert_true(list->items[1].outputs >= 2);
    assert_int_equal(list->items[1].outputs, list->items[1].items_done);
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
}

int test_control_commits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_suspends_a_job_that_has_no_room),
        cmocka_unit_test(test_control_stores_and_resumes_at_once),
        cmocka_unit_test(test_control_suspends_after_a_resume_that_waited_for_room),
        cmocka_unit_test(test_control_stops_a_job_that_gives_without_end),
        cmocka_unit_test(test_control_answers_who_cancels_on_a_full_disk),
        cmocka_unit_test(test_control_stores_checkpoints_with_their_outputs),
    };
    return cmocka_run_group_tests_name("control_commits", tests, NULL, NULL);
}
