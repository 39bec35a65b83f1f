#include "scheduler/executor/worker.h"

#include <semaphore.h>
#include <time.h>

#include "tests/scheduler/executor_fixtures.h"

static const char program[] =
    "function forever(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, -1, done, head\n"
    "done:\n"
    "    Ret r0\n"
    "}\n"
    "function same(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
    "    Ret r0\n"
    "}\n";

static sem_t endless_ended, quick_ended;
static void wake_endless(WorkerSlice *slice) {
    (void)slice;
    (void)sem_post(&endless_ended);
}
static void wake_quick(WorkerSlice *slice) {
    (void)slice;
    (void)sem_post(&quick_ended);
}

static void make_job(const ExecutorFixture *fixture, const char *function, JobRun **out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {2, 2}};
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(fixture_job(fixture, function, &inputs, 1, out));
}

/* An endless job gives the worker up when asked; the next in line runs then. */
static void test_worker_runs_slices_in_turn(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, endless) = NULL;
    OWN(JobRun, quick) = NULL;
    OWN(Worker, worker) = NULL;
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, "forever", &endless);
    make_job(&fixture, "same", &quick);
    (void)sem_init(&endless_ended, 0, 0);
    (void)sem_init(&quick_ended, 0, 0);
    assert_ok(worker_create("test", &worker));
    WorkerSlice first = {.run = endless, .residency = fixture.residency, .done = wake_endless};
    WorkerSlice second = {.run = quick, .residency = fixture.residency, .done = wake_quick};
    first.sink = second.sink = fixture_sink(&outputs);
    for (int round = 0; round < 3; round++) {
        worker_post(worker, &first);
        if (round == 0) worker_post(worker, &second);
        const struct timespec pause = {.tv_nsec = 5000000};
        (void)nanosleep(&pause, NULL);
        job_run_request_slice_end(endless);
        (void)sem_wait(&endless_ended);
        assert_null(first.error);
        assert_int_equal(first.result.outcome, JOB_RUN_SLICE_ENDED);
        assert_true(first.device_time_ns > 0);
    }
    (void)sem_wait(&quick_ended);
    assert_null(second.error);
    assert_int_equal(second.result.outcome, JOB_RUN_FINISHED);
    assert_int_equal(outputs.count, 2);
    (void)sem_destroy(&endless_ended);
    (void)sem_destroy(&quick_ended);
}

int test_worker(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_runs_slices_in_turn),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
