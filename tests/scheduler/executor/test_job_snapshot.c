#include <string.h>

#include "base/allocator.h"
#include "scheduler/executor/job_point.h"
#include "scheduler/executor/job_run.h"
#include "serialize/checkpoint/warm_storages.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/serialize/serialize_fixtures.h"

static const char program[] =
    "primitive %add = Add\n"
    "function triple(a: float32[n, 9000]) -> (y: float32[n, 9000]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Yield 1\n"
    "    InvokePacked %add r1, r0 -> r1\n"
    "    Yield 2\n"
    "    Ret r1\n"
    "}\n"
    "function other(a: float32[n, 9000]) -> (y: float32[n, 9000]) exported {\n Ret r0\n}\n";

typedef struct Saved {
    ByteWriter bytes;
    ChunkRef *chunks;
    size_t chunk_count;
} Saved;

static void saved_deinit(Saved *saved) {
    byte_writer_deinit(&saved->bytes);
    memory_free(saved->chunks);
    *saved = (Saved){0};
}

static void make_job(const ExecutorFixture *fixture, const char *function, JobRun **out) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const Shape shape = {.rank = 2, .dims = {4, 9000}};
    fixture_add_floats(&inputs, "a", &shape, 1);
    assert_ok(fixture_job(fixture, function, &inputs, 2, out));
}

/* out: it was moved to host memory before. */
static void save(JobRun *run, bool is_out, MemoryStore *store, Saved *out) {
    JobSnapshot OWN_SNAPSHOT(snapshot) = {0};
    *out = (Saved){0};
    if (is_out) assert_ok(job_run_move_out(run, NULL));
    assert_ok(job_run_take_snapshot(run, &snapshot));
    assert_ok(job_snapshot_write(
        &snapshot, NULL, memory_store_sink(store), &out->bytes, &out->chunks, &out->chunk_count));
}

static Error *load(const ExecutorFixture *fixture, const char *function, const Saved *saved,
    MemoryStore *store, JobRun **out) {
    OWN(JobRun, run) = NULL;
    make_job(fixture, function, &run);
    TRY(job_run_restore(run, saved->bytes.data, saved->bytes.size, NULL, CHUNK_VERIFY_SHA256,
        memory_store_source(store), fixture->residency, NULL));
    *out = TAKE(run);
    return NULL;
}

/* Every slice in a job of its own, made from the checkpoint of the one before: between runs and in
 * the middle of them, on its device and out of it. */
static void test_job_snapshot_chain_gives_the_same_outputs(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    MemoryStore store = {0};
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    JobRunResult result = {JOB_RUN_SLICE_ENDED, 0};
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, "triple", &run);
    size_t stops = 0;
    while (result.outcome != JOB_RUN_FINISHED) {
        Saved saved;
        outputs.stop = run;
        assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
        save(run, stops % 2, &store, &saved);
        job_run_release(TAKE(run));
        assert_ok(load(&fixture, "triple", &saved, &store, &run));
        saved_deinit(&saved);
        stops++;
    }
    assert_int_equal(stops, 4); /* at the first yield of each run, and behind it */
    assert_int_equal(outputs.count, 6);
    assert_int_equal(outputs.items_done, 4);
    assert_int_equal(outputs.repeated, 0);
    const float *data = (const float *)outputs.rows[5].items[0].data;
    assert_true(data[0] == 3 * 18001.0f);
    memory_store_deinit(&store);
}

/* A replay from an older checkpoint gives the outputs behind it again, with the same bytes. */
static void test_job_snapshot_replays_the_same_outputs(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    MemoryStore store = {0};
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    OWN(JobRun, again) = NULL;
    JobRunResult result;
    Saved saved;
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, "triple", &run);
    outputs.stop = run;
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    save(run, false, &store, &saved);
    assert_true(saved.chunk_count > 0);
    outputs.stop = NULL;
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(outputs.count, 6);
    assert_ok(load(&fixture, "triple", &saved, &store, &again));
    assert_ok(job_run_slice(again, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(result.outcome, JOB_RUN_FINISHED);
    assert_int_equal(outputs.repeated, 6 - (size_t)1);
    saved_deinit(&saved);
    memory_store_deinit(&store);
}

/* What an earlier look at the checkpoint brought into memory is not fetched again. */
static void test_job_snapshot_goes_on_with_what_is_warm(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    MemoryStore store = {0}, empty = {0};
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    JobPoint OWN_POINT(point) = {0};
    OWN(JobRun, run) = NULL;
    OWN(JobRun, again) = NULL;
    OWN(Container, container) = NULL;
    OWN(WarmStorages, warm) = NULL;
    JobRunResult result;
    Saved saved;
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, "triple", &run);
    outputs.stop = run;
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    save(run, false, &store, &saved);
    assert_ok(job_point_read(saved.bytes.data, saved.bytes.size, &point));
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, point.manifest, point.manifest_size,
        memory_store_source(&store), &container));
    assert_ok(warm_storages_create(fixture.residency->devices, 0, &warm));
    assert_ok(warm_storages_read(warm, container, NULL, CHUNK_VERIFY_SHA256));
    make_job(&fixture, "triple", &again);
    assert_ok(job_run_restore(again, saved.bytes.data, saved.bytes.size, NULL, CHUNK_VERIFY_XXH3,
        memory_store_source(&empty), fixture.residency, warm));
    assert_int_equal(job_run_device_bytes(again), job_run_device_bytes(run));
    assert_true(warm_storages_get_counts(warm).kept > 0);
    outputs.stop = NULL;
    assert_ok(job_run_slice(again, fixture.residency, fixture_sink(&outputs), &result));
    assert_int_equal(result.outcome, JOB_RUN_FINISHED);
    assert_int_equal(outputs.count, 6);
    saved_deinit(&saved);
    memory_store_deinit(&store);
}

static void test_job_snapshot_refuses_damage(void **state) {
    (void)state;
    ExecutorFixture OWN_FIXTURE(fixture);
    MemoryStore store = {0};
    FixtureOutputs OWN_OUTPUTS(outputs) = {0};
    OWN(JobRun, run) = NULL;
    JobRun *loaded = NULL;
    JobRunResult result;
    Saved saved;
    executor_fixture_init(&fixture, program, "cpu");
    make_job(&fixture, "triple", &run);
    outputs.stop = run;
    assert_ok(job_run_slice(run, fixture.residency, fixture_sink(&outputs), &result));
    save(run, false, &store, &saved);
    assert_fails(CORRUPT, load(&fixture, "other", &saved, &store, &loaded));
    size_t size = saved.bytes.size;
    for (saved.bytes.size = 0; saved.bytes.size < size; saved.bytes.size++)
        assert_fails(CORRUPT, load(&fixture, "triple", &saved, &store, &loaded));
    size_t refused = 0;
    for (size_t i = 0; i < size; i++) {
        saved.bytes.data[i] ^= 0x20;
        Error *error = load(&fixture, "triple", &saved, &store, &loaded);
        refused += error != NULL;
        error_free(error); /* a number in the progress may be another valid one */
        job_run_release(loaded);
        loaded = NULL;
        saved.bytes.data[i] ^= 0x20;
    }
    assert_true(refused > size / 2);
    saved_deinit(&saved);
    memory_store_deinit(&store);
}

int test_job_snapshot(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_snapshot_chain_gives_the_same_outputs),
        cmocka_unit_test(test_job_snapshot_replays_the_same_outputs),
        cmocka_unit_test(test_job_snapshot_goes_on_with_what_is_warm),
        cmocka_unit_test(test_job_snapshot_refuses_damage),
    };
    return cmocka_run_group_tests_name("job_snapshot", tests, NULL, NULL);
}
