#include "scheduler/service/output_answer.h"

#include "serialize/arrays/npz.h"
#include "tests/scheduler/service_fixtures.h"
#include "tests/scheduler/stream_fixtures.h"

typedef struct Bench {
    ServiceFixture fixture;
    Job job;
} Bench;

static void bench_init(Bench *bench, int64_t rows, bool items) {
    JobsApiJob job;
    service_fixture_init(&bench->fixture);
    assert_ok(service_fixture_submit(&bench->fixture, "four", rows, items, &job));
    service_fixture_wait(&bench->fixture, "succeeded", &job);
    JobId id;
    assert_true(job_id_parse(job.job, &id));
    assert_ok(jobs_get(bench->fixture.node.store, TENANT_DEFAULT, id, &bench->job));
}

static void bench_deinit(Bench *bench) { service_fixture_deinit(&bench->fixture); }
#define OWN_BENCH(name) __attribute__((cleanup(bench_deinit))) name

static JobsApiOutputs read_answer(
    Bench *bench, int64_t since, OutputAnswerLimits limits, ArrayList *out) {
    HttpStream stream = {0};
    JobsApiOutputs outputs;
    ByteWriter OWN_BYTES(file) = {0};
    assert_ok(output_answer_open(
        bench->fixture.node.store, &bench->job, since, &limits, &stream, &outputs));
    assert_ok(stream_pull(&stream, NULL, &file));
    assert_ok(npz_read(file.data, file.size, 1 << 26, out));
    return outputs;
}

/* Each answer has one row at least, and the next one goes on behind it. */
static void test_output_answer_has_limits(void **state) {
    (void)state;
    static const struct {
        OutputAnswerLimits limits;
        int64_t rows; /* of the first answer */
    } cases[] = {
        {{3, UINT64_MAX, UINT64_MAX}, 3},
        {{0, 0, 0}, 0},
        {{100, 0, UINT64_MAX}, 1},
        {{100, UINT64_MAX, 0}, 1},
        {{100, UINT64_MAX, 17}, 3}, /* 8 bytes each: below the limit before the third */
        {{100, UINT64_MAX, UINT64_MAX}, 7},
    };
    Bench OWN_BENCH(bench);
    bench_init(&bench, 7, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArrayList OWN_ARRAYS(arrays) = {0};
        JobsApiOutputs outputs = read_answer(&bench, 0, cases[i].limits, &arrays);
        assert_int_equal(outputs.count, cases[i].rows);
        assert_int_equal(outputs.next, cases[i].rows);
        if (outputs.count) assert_int_equal(arrays.items[0].shape.dims[0], cases[i].rows);
    }
    ArrayList OWN_ARRAYS(rest) = {0};
    JobsApiOutputs outputs = read_answer(&bench, 3, output_answer_limits, &rest);
    assert_int_equal(outputs.next, 7);
    assert_true(((const float *)rest.items[0].data)[0] == 4 * 7.0f);
}

/* What stands in chunks is never in memory whole: a pull answers one chunk at most. */
static void test_output_answer_reads_chunk_by_chunk(void **state) {
    (void)state;
    enum { ROWS = 400000, PULL_MAX = (1 << 20) + (256 << 10) };
    Bench OWN_BENCH(bench);
    HttpStream stream = {0};
    HttpStreamState at = HTTP_STREAM_MORE;
    JobsApiOutputs outputs;
    ByteWriter OWN_BYTES(file) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    int pulls = 0;
    bench_init(&bench, ROWS, false);
    assert_ok(output_answer_open(
        bench.fixture.node.store, &bench.job, 0, &output_answer_limits, &stream, &outputs));
    for (; at == HTTP_STREAM_MORE; pulls++) {
        ByteWriter OWN_BYTES(piece) = {0};
        assert_ok(stream.pull(stream.self, &piece, &at));
        assert_in_range(piece.size, 1, PULL_MAX);
        byte_write_bytes(&file, piece.data, piece.size);
    }
    stream.close(stream.self);
    assert_true(pulls >= ROWS * 8 / (1 << 20));
    assert_ok(npz_read(file.data, file.size, 1 << 26, &arrays));
    assert_int_equal(arrays.count, 1);
    for (int64_t i = 0; i < 2 * ROWS; i++)
        assert_true(((const float *)arrays.items[0].data)[i] == 4 * (float)(i + 1));
}

static Error *remove_it(Connection *catalog, void *context) {
    const Job *job = context;
    return jobs_remove(catalog, job->tenant, job->id);
}

static void test_output_answer_fails_when_the_job_goes(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    HttpStream stream = {0};
    JobsApiOutputs outputs;
    ByteWriter OWN_BYTES(file) = {0};
    bench_init(&bench, 100000, false);
    assert_ok(output_answer_open(
        bench.fixture.node.store, &bench.job, 0, &output_answer_limits, &stream, &outputs));
    assert_ok(catalog_run(bench.fixture.node.catalog, remove_it, &bench.job));
    assert_fails(NOT_FOUND, stream_pull(&stream, NULL, &file));
}

int test_output_answer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_answer_has_limits),
        cmocka_unit_test(test_output_answer_reads_chunk_by_chunk),
        cmocka_unit_test(test_output_answer_fails_when_the_job_goes),
    };
    return cmocka_run_group_tests_name("output_answer", tests, NULL, NULL);
}
