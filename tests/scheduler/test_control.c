#include "scheduler/control.h"

#include <time.h>

#include "tests/scheduler/control_fixtures.h"

static const char program[] =
    "primitive %add = Add\n"
    "function four(a: float32[n, 2]) -> (y: float32[n, 2]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    InvokePacked %add r1, r1 -> r1\n"
    "    Ret r1\n"
    "}\n"
    /* a few hundred thousand instructions */
    "function slow(a: float32[n, 2]) -> (y: float32[n, 2]) exported last_uses {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, 3000000, done, head\n"
    "done:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function forever(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, -1, done, head\n"
    "done:\n"
    "    Ret r0\n"
    "}\n"
    "constant @why = string \"no luck\"\n"
    "function fails(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    Fatal @why\n"
    "}\n";

static const char *const cpu_and_sim[] = {"cpu", "sim:0", NULL};

static void check_rows(ControlFixture *fixture, JobId id, int64_t count, float factor) {
    for (int64_t i = 0; i < count; i++) {
        ArrayList OWN_ARRAYS(arrays) = {0};
        control_fixture_output(fixture, id, i, &arrays);
        assert_int_equal(arrays.count, 1);
        assert_string_equal(arrays.items[0].name, "y");
        assert_true(*(const float *)arrays.items[0].data == factor * (float)(2 * i + 1));
    }
}

static void test_control_runs_single_and_batch_jobs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId single, batch;
    Job job;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, NULL, &single));
    assert_ok(control_fixture_submit(&fixture, "four", 40, true, NULL, &batch));
    control_fixture_wait(&fixture, single, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 1);
    check_rows(&fixture, single, 1, 4);
    control_fixture_wait(&fixture, batch, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 40);
    assert_int_equal(job.items_done, 40);
    assert_int_equal(job.items_total, 40);
    check_rows(&fixture, batch, 40, 4);
}

static void test_control_refuses_what_cannot_run(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, NULL);
    assert_fails(NOT_FOUND, control_fixture_submit(&fixture, "nobody", 1, false, NULL, &id));
    assert_ok(control_fixture_submit(&fixture, "fails", 1, false, NULL, &id));
    control_fixture_wait(&fixture, id, JOB_STATE_FAILED, &job);
    assert_fails_saying(CONFLICT, "failed", control_suspend(fixture.control, TENANT_DEFAULT, id));
    assert_fails(CONFLICT, control_cancel(fixture.control, TENANT_DEFAULT, id));
    assert_fails(NOT_FOUND, control_cancel(fixture.control, TENANT_DEFAULT + 1, id));
}

static void test_control_answers_a_key_with_its_first_job(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId first, again;
    Job job;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, "k", &first));
    control_fixture_wait(&fixture, first, JOB_STATE_SUCCEEDED, &job);
    assert_ok(control_fixture_submit(&fixture, "four", 3, false, "k", &again));
    assert_true(job_id_equal(first, again));
    assert_fails(CONFLICT, control_fixture_submit(&fixture, "four", 4, false, "k", &again));
}

/* Suspended in the middle of a run, again and again, it gives what an undisturbed run gives. */
static void test_control_suspends_and_resumes(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    Job job;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "slow", 12, true, NULL, &id));
    for (int round = 1; round <= 3; round++) {
        control_fixture_wait_outputs(&fixture, id, round);
        assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, id));
        assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
        assert_int_equal(job.state, JOB_STATE_SUSPENDED);
        assert_true(job.checkpoint_last >= round);
        assert_fails(CONFLICT, control_suspend(fixture.control, TENANT_DEFAULT, id));
        assert_ok(control_resume(fixture.control, TENANT_DEFAULT, id, round % 2 ? "sim:0" : "cpu"));
        assert_fails(CONFLICT, control_resume(fixture.control, TENANT_DEFAULT, id, NULL));
    }
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 12);
    check_rows(&fixture, id, 12, 2);
}

static void test_control_cancels_what_runs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId endless, waiting;
    Job job;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 2, false, NULL, &endless));
    assert_ok(control_fixture_submit(&fixture, "four", 2, false, NULL, &waiting));
    control_fixture_wait(&fixture, waiting, JOB_STATE_SUCCEEDED, &job); /* they share the device */
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, endless));
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, endless, &job));
    assert_int_equal(job.state, JOB_STATE_CANCELLED);
    assert_fails(CONFLICT, control_cancel(fixture.control, TENANT_DEFAULT, endless));
}

/* The process ends without a word; the next one goes on from the newest checkpoint. */
static void test_control_recovers_after_its_end(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id, suspended;
    Job job;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, cpu_and_sim);
    assert_ok(control_fixture_submit(&fixture, "slow", 10, true, NULL, &id));
    assert_ok(control_fixture_submit(&fixture, "slow", 3, true, NULL, &suspended));
    control_fixture_wait_outputs(&fixture, suspended, 1);
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, suspended));
    control_fixture_wait_outputs(&fixture, id, 2);
    assert_ok(control_checkpoint(fixture.control, TENANT_DEFAULT, id));
    control_fixture_wait_outputs(&fixture, id, 4);
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_wait(&fixture, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, 10);
    check_rows(&fixture, id, 10, 2);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, suspended, &job));
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, suspended, NULL));
    control_fixture_wait(&fixture, suspended, JOB_STATE_SUCCEEDED, &job);
    check_rows(&fixture, suspended, 3, 2);
}

static void test_control_drains_with_checkpoints(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId ids[3];
    Job job;
    size_t left;
    control_fixture_init(&fixture, program);
    control_fixture_start(&fixture, cpu_and_sim);
    for (int i = 0; i < 3; i++)
        assert_ok(control_fixture_submit(&fixture, "slow", 6, true, NULL, &ids[i]));
    control_fixture_wait_outputs(&fixture, ids[0], 1);
    assert_ok(control_drain(fixture.control, (uint64_t)30 * 1000000000, &left));
    assert_int_equal(left, 3);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, ids[0], &job));
    assert_true(job.checkpoint_last > 0);
    assert_fails(UNREACHABLE, control_fixture_submit(&fixture, "four", 1, false, NULL, &ids[0]));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < 3; i++) {
        control_fixture_wait(&fixture, ids[i], JOB_STATE_SUCCEEDED, &job);
        check_rows(&fixture, ids[i], 6, 2);
    }
}

int test_control(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_runs_single_and_batch_jobs),
        cmocka_unit_test(test_control_refuses_what_cannot_run),
        cmocka_unit_test(test_control_answers_a_key_with_its_first_job),
        cmocka_unit_test(test_control_suspends_and_resumes),
        cmocka_unit_test(test_control_cancels_what_runs),
        cmocka_unit_test(test_control_recovers_after_its_end),
        cmocka_unit_test(test_control_drains_with_checkpoints),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
