#include "scheduler/executor/job_run.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/scheduler/executor_fixtures.h"

static const char program[] =
    "constant @much = string \"two is too much\"\n"
    "primitive %add = Add\n"
    /* y = 4 a, yielding 2 a and 3 a on the way */
    "function four(a: float32[n, 2]) -> (y: float32[n, 2]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Yield r1\n"
    "    InvokePacked %add r1, r0 -> r1\n"
    "    Yield r1\n"
    "    InvokePacked %add r1, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    /* fails on the item 2 */
    /* a hundred million arrays in some lists */
    "function ten(1) {\n"
    "    ListNew r0, r0, r0, r0, r0, r0, r0, r0, r0, r0 -> r1\n"
    "    ListNew r1, r1, r1, r1, r1, r1, r1, r1, r1, r1 -> r2\n"
    "    Ret r2\n"
    "}\n"
    "function many(a: float32[n, 2]) -> (y: any) exported {\n"
    "    Invoke &ten, r0 -> r1\n"
    "    Invoke &ten, r1 -> r1\n"
    "    Invoke &ten, r1 -> r1\n"
    "    Ret r1\n"
    "}\n"
    /* yields what would not fit all at once */
    "function sheds(a: float32[n, 2]) -> (y: int64[] slot 0) exported last_uses {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    Yield r2\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, 50, done, head\n"
    "done:\n"
    "    MakeTensor0 r1, int64 -> r1\n"
    "    Ret r1\n"
    "}\n"
    "function picky(a: int64[1] slot 0) -> (y: int64[1] slot 0) exported {\n"
    "    If r0, 2, bad, good\n"
    "good:\n"
    "    Ret r0\n"
    "bad:\n"
    "    Fatal @much\n"
    "}\n";

static void make_job(const ExecutorFixture *fixture, int64_t items, uint64_t size, JobRun **out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {items, 2}};
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(fixture_job(fixture, "four", &inputs, size, out));
}

static void run_to_end(JobRun *run, Residency *residency, FixtureOutputs *outputs) {
    JobRunResult result = {JOB_RUN_SLICE_ENDED, 0};
    while (result.outcome != JOB_RUN_FINISHED)
        assert_ok(job_run_slice(run, residency, fixture_sink(outputs), &result));
}

static void check_rows(const FixtureOutputs *outputs, int64_t runs, int64_t items) {
    assert_int_equal(outputs->count, 3 * runs);
    assert_int_equal(outputs->items_done, items);
    for (int64_t i = 0; i < 3 * runs; i++) {
        const NamedArray *array = &outputs->rows[i].items[0];
        const float *data = (const float *)array->data;
        assert_int_equal(outputs->rows[i].count, 1);
        char yield[32];
        (void)snprintf(yield, sizeof yield, "yield.%d", (int)i);
        assert_string_equal(array->name, i % 3 == 2 ? "y" : yield);
        assert_true(data[1] == data[0] + (float)(i % 3 + 2)); /* neighbours times 2, 3, 4 */
    }
}

static void test_job_run_numbers_outputs_and_yields(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, 5, 2, &run);
    assert_int_equal(job_run_items_total(run), 5);
    run_to_end(run, fixture.residency, &outputs);
    check_rows(&outputs, 3, 5);
    assert_int_equal(job_run_sequence(run), 9);
    run_to_end(run, fixture.residency, &outputs); /* once more changes nothing */
    assert_int_equal(outputs.repeated, 0);
}

/* A slice end asked for at every output, and before the first: the same outputs. */
static void test_job_run_in_many_slices_gives_the_same(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    JobRunResult result;
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, 4, 1, &run);
    outputs.stop = run;
    job_run_request_slice_end(run);
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(result.outcome, JOB_RUN_SLICE_ENDED);
    assert_int_equal(outputs.count, 0);
    run_to_end(run, fixture.residency, &outputs);
    check_rows(&outputs, 4, 4);
}

/* A slice ends at that instruction exactly, and only there, also when it was to begin there. */
static void test_job_run_stops_where_it_is_to_be_suspended(void **state) {
    (void)state;
    for (uint64_t at = 1; at <= 5; at++) {
        ExecutorFixture OWN_FIXTURE(fixture);
        FixtureOutputs OWN_OUTPUTS(outputs) = {0};
        OWN(JobRun, run) = NULL;
        JobRunResult result;
        executor_fixture_init(&fixture, program, "cpu");
        make_job(&fixture, 2, 0, &run);
        job_run_set_suspend_at(run, at, false);
        assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
        assert_int_equal(result.outcome, JOB_RUN_SUSPENDED);
        assert_int_equal(job_run_get_counters(run).instructions, at);
        job_run_set_suspend_at(run, at, false); /* as from a checkpoint of that moment */
        assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
        assert_int_equal(result.outcome, JOB_RUN_SUSPENDED);
        assert_int_equal(job_run_get_counters(run).instructions, at);
        assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
        assert_int_equal(result.outcome, JOB_RUN_FINISHED);
        assert_int_equal(job_run_get_counters(run).instructions, 6);
        assert_int_equal(job_run_get_counters(run).kernel_calls, 3);
        assert_true(job_run_get_counters(run).peak_bytes > 0);
    }
}

/* Out of the device and back after every slice, from sim to cpu's memory; nothing stays behind. */
static void test_job_run_moves_out_and_in(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    JobRunResult result = {JOB_RUN_SLICE_ENDED, 0};
    executor_fixture_init(&fixture, program, "sim:0");
    make_job(&fixture, 4, 2, &run);
    outputs.stop = run;
    size_t times = 0;
    while (result.outcome != JOB_RUN_FINISHED) {
        assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
        assert_ok(job_run_move_out(run, NULL));
        assert_true(job_run_is_out(run));
        assert_int_equal(job_run_device_bytes(run), 0);
        times += job_run_host_bytes(run) > 0;
        assert_ok(job_run_move_in(run, fixture.residency, NULL));
        assert_int_equal(job_run_host_bytes(run), 0);
    }
    assert_true(times >= 2); /* in the middle of a run */
    check_rows(&outputs, 2, 4);
}

/* Out of one device and into another that rounds otherwise: told once, and not on the way back to
 * nothing new. */
static void test_job_run_tells_when_the_arithmetic_changes(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(Device, lacking) = NULL;
    OWN(Residency, other) = NULL;
    OWN(JobRun, run) = NULL;
    JobRunResult result;
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(device_open("sim:0,lacks=Add", &lacking));
    assert_ok(residency_create(fixture.executable, fixture.device, lacking, NULL, &other));
    make_job(&fixture, 4, 2, &run);
    outputs.stop = run;
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    assert_null(job_run_take_class_change(run));
    assert_ok(job_run_move_out(run, NULL));
    assert_ok(job_run_move_in(run, other, NULL));
    char *words = job_run_take_class_change(run);
    assert_non_null(strstr(words, "goes on with another determinism class: "));
    assert_non_null(strstr(words, " without Add"));
    memory_free(words);
    assert_null(job_run_take_class_change(run));
    assert_ok(job_run_move_out(run, NULL));
    assert_ok(job_run_move_in(run, other, NULL));
    assert_null(job_run_take_class_change(run));
}

static void test_job_run_asks_for_memory_and_goes_on_with_it(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    JobRunResult result;
    executor_fixture_init(&fixture, program, "sim:0");
    make_job(&fixture, 3, 3, &run);
    job_run_set_grant(run, 64); /* the argument, no more */
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(result.outcome, JOB_RUN_NEEDS_MEMORY);
    assert_true(result.bytes > 0);
    job_run_set_grant(run, 1 << 20);
    run_to_end(run, fixture.residency, &outputs);
    check_rows(&outputs, 1, 3);
}

static JobRun *make_single(const ExecutorFixture *fixture, const char *function,
    const ExecutionOptions *options, int64_t rows) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {rows, 2}};
    uint32_t index;
    Batch *batch;
    JobRun *run;
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(executable_find_function(fixture->executable, function, &index));
    assert_ok(batch_create(fixture->executable, index, &inputs, &(BatchOptions){0}, &batch));
    assert_ok(job_run_create(batch, index, options, &run));
    return run;
}

/* What is small in an execution can be large outside: the number of arrays and their bytes have a
 * limit of their own. */
static void test_job_run_limits_one_output(void **state) {
    (void)state;
    static const struct {
        ExecutionOptions options;
        int64_t rows;
        const char *saying;
    } cases[] = {
        {{.threads = 1}, 1, "more than 16384 arrays"},
        {{.memory_limit_bytes = {[SLOT_HOST] = 1 << 20}}, 1000, "of 1048576 that one may have"},
    };
    ExecutorFixture OWN_FIXTURE(fixture);
    executor_fixture_init(&fixture, program, "cpu");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FixtureOutputs OWN_OUTPUTS(outputs) = {0};
        JobRunResult result;
        OWN(JobRun, run) = make_single(&fixture, "many", &cases[i].options, cases[i].rows);
        assert_fails_saying(EXHAUSTED, cases[i].saying,
            job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
        assert_int_equal(outputs.count, 0);
    }
}

/* Yields that wait to be taken hold memory; it is not asked for more before they are. */
static void test_job_run_takes_yields_before_it_asks_for_memory(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    JobRunResult result;
    executor_fixture_init(&fixture, program, "sim:0");
    OWN(JobRun, run) = make_single(&fixture, "sheds", &(ExecutionOptions){.threads = 1}, 1000);
    job_run_set_grant(run, 5 * 8192); /* the argument and a few more, of fifty */
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(result.outcome, JOB_RUN_FINISHED);
    assert_int_equal(outputs.count, 51);
}

static void test_job_run_names_the_item_that_fails(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    ArrayList OWN_ARRAYS(inputs) = {0};
    NamedArray array;
    JobRunResult result;
    int64_t count = 4;
    Shape shape = shape_make(1, &count);
    executor_fixture_init(&fixture, program, "cpu");
    assert_ok(named_array_init(&array, "a", DTYPE_INT64, &shape));
    for (int64_t i = 0; i < count; i++) ((int64_t *)array.data)[i] = i;
    assert_ok(array_list_add(&inputs, &array));
    assert_ok(fixture_job(&fixture, "picky", &inputs, 1, &run));
    assert_fails_saying(
        FAILED, "item 2: ", job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(outputs.count, 2); /* what came before stays */
}

int test_job_run(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_run_numbers_outputs_and_yields),
        cmocka_unit_test(test_job_run_in_many_slices_gives_the_same),
        cmocka_unit_test(test_job_run_stops_where_it_is_to_be_suspended),
        cmocka_unit_test(test_job_run_moves_out_and_in),
        cmocka_unit_test(test_job_run_tells_when_the_arithmetic_changes),
        cmocka_unit_test(test_job_run_asks_for_memory_and_goes_on_with_it),
        cmocka_unit_test(test_job_run_limits_one_output),
        cmocka_unit_test(test_job_run_takes_yields_before_it_asks_for_memory),
        cmocka_unit_test(test_job_run_names_the_item_that_fails),
    };
    return cmocka_run_group_tests_name("job_run", tests, NULL, NULL);
}
