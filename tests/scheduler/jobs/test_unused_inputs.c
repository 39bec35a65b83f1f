#include "scheduler/jobs/unused_inputs.h"

#include <math.h>

#include "scheduler/node/stored_arrays.h"
#include "tests/scheduler/control_fixtures.h"

enum { ROWS = 400000, ROW_BYTES = 8, CHUNKS_MAX = 4 };

/* A job's stored inputs: one array of several chunks. */
typedef struct Bench {
    ControlFixture fixture;
    Job job;
} Bench;

static void bench_open(Bench *bench) {
    JobId id;
    control_fixture_init(&bench->fixture);
    control_fixture_start(&bench->fixture, NULL);
    assert_ok(control_fixture_submit(&bench->fixture, "forever", ROWS, false, NULL, &id));
    assert_ok(control_cancel(bench->fixture.control, TENANT_DEFAULT, id));
    assert_ok(jobs_get(bench->fixture.store, TENANT_DEFAULT, id, &bench->job));
}

static void bench_close(Bench *bench) { control_fixture_deinit(&bench->fixture); }
#define OWN_BENCH(name) __attribute__((cleanup(bench_close))) name

/* Stored chunks in the order in which they were put. */
typedef struct Kept {
    ByteWriter chunks[CHUNKS_MAX];
    ChunkRef refs[CHUNKS_MAX];
    size_t count;
} Kept;

static void kept_deinit(Kept *kept) {
    for (size_t i = 0; i < kept->count; i++) byte_writer_deinit(&kept->chunks[i]);
}
#define OWN_KEPT(name) __attribute__((cleanup(kept_deinit))) name

static Error *find(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    (void)self;
    (void)refs;
    for (size_t i = 0; i < count; i++) out_found[i] = false;
    return NULL;
}

static Error *put(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    Kept *kept = self;
    assert_true(kept->count < CHUNKS_MAX);
    kept->refs[kept->count] = *ref;
    byte_write_bytes(&kept->chunks[kept->count], stored, stored_size);
    return byte_writer_check(&kept->chunks[kept->count++]);
}

/* The same rows, cut out of the whole array in memory. */
static void write_expected(Bench *bench, int64_t used, Kept *out_kept, ArrayBundle *out_bundle) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    assert_ok(stored_arrays_read(bench->fixture.store, NULL, TENANT_DEFAULT, bench->job.id,
        JOB_CONTENT_INPUTS, 0, STORED_ARRAYS_INPUTS_MAX, &arrays));
    NamedArray rest = arrays.items[0];
    const ArrayList list = {&rest, 1, 1};
    rest.data += used * ROW_BYTES;
    rest.size -= (uint64_t)used * ROW_BYTES;
    rest.shape.dims[0] -= used;
    assert_ok(array_bundle_write(&list, NULL, (ChunkSink){find, put, out_kept}, out_bundle));
}

static void check(Bench *bench, const JobPolicy *policy, int64_t used, int64_t expected_used) {
    OWN(UnusedInputs, inputs) = NULL;
    ArrayBundle OWN_BUNDLE(expected) = {0};
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    Kept OWN_KEPT(expected_kept) = {.count = 0};
    Kept OWN_KEPT(kept) = {.count = 0};
    ByteWriter OWN_BYTES(again) = {0};
    Store *store = bench->fixture.store;
    write_expected(bench, expected_used, &expected_kept, &expected);
    assert_ok(unused_inputs_open(store, &bench->job, policy, used, &inputs));
    assert_ok(unused_inputs_write(inputs, NULL, (ChunkSink){find, put, &kept}, &bundle));
    assert_int_equal(bundle.bytes.size, expected.bytes.size);
    assert_memory_equal(bundle.bytes.data, expected.bytes.data, bundle.bytes.size);
    assert_int_equal(kept.count, expected_kept.count);
    assert_int_equal(bundle.chunk_count, kept.count);
    assert_true(unused_inputs_bytes(inputs) < 16 << 10); /* of three million */
    const ChunkSource source = unused_inputs_source(inputs, &bundle);
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < kept.count; i++) {
            const ByteWriter *chunk = &expected_kept.chunks[i];
            assert_true(digest_equal(&kept.refs[i].hash, &expected_kept.refs[i].hash));
            assert_ok(source.get(source.self, &kept.refs[i], &again));
            assert_int_equal(again.size, chunk->size);
            assert_memory_equal(again.data, chunk->data, chunk->size);
        }
}

static void test_unused_inputs_are_the_rows_that_are_left(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    const int64_t inline_rows = ARRAY_BUNDLE_INLINE_SIZE / ROW_BYTES;
    const int64_t used[] = {0, 1, CHUNK_SIZE / ROW_BYTES, CHUNK_SIZE / ROW_BYTES + 7,
        ROWS - inline_rows - 1, ROWS - inline_rows, ROWS - 1, ROWS};
    const JobPolicy policy = {.items = true};
    bench_open(&bench);
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        check(&bench, &policy, used[i], used[i]);
}

static void test_unused_inputs_leave_shared_ones_whole(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    char name[] = "a", *shared[] = {name};
    const JobPolicy policy = {.items = true, .shared = shared, .shared_count = 1};
    bench_open(&bench);
    check(&bench, &policy, 5, 0);
}

/* A job whose inputs are strings, two an item. */
typedef struct TextsJob {
    JobSubmission submission;
    JobId id;
} TextsJob;

static Error *submit_texts(Connection *catalog, void *context) {
    TextsJob *texts = context;
    return jobs_submit(catalog, TENANT_DEFAULT, &texts->submission, &texts->id, NULL);
}

static void write_texts(const char *const *texts, int64_t items, ArrayBundle *out_bundle) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    NamedArray array = {0};
    const Shape shape = {.rank = 2, .dims = {items, 2}};
    assert_ok(named_array_init_texts(&array, "words", &shape, texts));
    assert_ok(array_list_add(&arrays, &array));
    assert_ok(array_bundle_write(&arrays, NULL, (ChunkSink){0}, out_bundle));
}

static void test_unused_inputs_cut_strings_at_their_front(void **state) {
    (void)state;
    enum { ITEMS = 4, USED = 3 };
    static const char *const words[2 * ITEMS] = {"a", "bb", "", "d", "ee", "f", "gg", "last"};
    Bench OWN_BENCH(bench);
    OWN(UnusedInputs, inputs) = NULL;
    ArrayBundle OWN_BUNDLE(whole) = {0};
    ArrayBundle OWN_BUNDLE(expected) = {0};
    ArrayBundle OWN_BUNDLE(rest) = {0};
    const JobPolicy policy = {.items = true};
    Job job;
    bench_open(&bench);
    write_texts(words, ITEMS, &whole);
    write_texts(&words[2 * USED], ITEMS - USED, &expected);
    JobContent content = {.bytes = whole.bytes.data, .size = whole.bytes.size};
    assert_ok(job_content_stage(NULL, TENANT_DEFAULT, &content));
    TextsJob texts = {.submission = {.model = "m",
                          .executable = bench.job.executable,
                          .state = JOB_STATE_SUSPENDED,
                          .priority = (int)bench.job.priority,
                          .release = JOB_RELEASE_LOG,
                          .items_total = ITEMS,
                          .deadline = NAN,
                          .inputs = &content}};
    assert_ok(catalog_run(bench.fixture.catalog, submit_texts, &texts));
    assert_ok(jobs_get(bench.fixture.store, TENANT_DEFAULT, texts.id, &job));
    assert_ok(unused_inputs_open(bench.fixture.store, &job, &policy, USED, &inputs));
    assert_ok(unused_inputs_write(inputs, NULL, (ChunkSink){0}, &rest));
    assert_int_equal(rest.bytes.size, expected.bytes.size);
    assert_memory_equal(rest.bytes.data, expected.bytes.data, rest.bytes.size);
}

static void test_unused_inputs_refuse_what_is_not_there(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    OWN(UnusedInputs, inputs) = NULL;
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    Kept OWN_KEPT(kept) = {.count = 0};
    ByteWriter OWN_BYTES(again) = {0};
    const JobPolicy policy = {.items = true};
    bench_open(&bench);
    Store *store = bench.fixture.store;
    assert_fails_saying(CORRUPT, "input a has 400000 items, 400001 are used",
        unused_inputs_open(store, &bench.job, &policy, ROWS + 1, &inputs));
    assert_null(inputs);
    assert_ok(unused_inputs_open(store, &bench.job, &policy, 1, &inputs));
    assert_ok(unused_inputs_write(inputs, NULL, (ChunkSink){find, put, &kept}, &bundle));
    const ChunkSource source = unused_inputs_source(inputs, &bundle);
    ChunkRef strange = bundle.chunks[0];
    strange.hash.bytes[0] ^= 1;
    assert_fails(NOT_FOUND, source.get(source.self, &strange, &again));
    Job other = bench.job;
    other.tenant = 99;
    OWN(UnusedInputs, none) = NULL;
    assert_fails(NOT_FOUND, unused_inputs_open(store, &other, &policy, 1, &none));
}

int test_unused_inputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unused_inputs_are_the_rows_that_are_left),
        cmocka_unit_test(test_unused_inputs_leave_shared_ones_whole),
        cmocka_unit_test(test_unused_inputs_cut_strings_at_their_front),
        cmocka_unit_test(test_unused_inputs_refuse_what_is_not_there),
    };
    return cmocka_run_group_tests_name("unused_inputs", tests, NULL, NULL);
}
