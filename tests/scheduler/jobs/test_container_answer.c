#include "scheduler/jobs/container_answer.h"

#include <string.h>

#include "base/allocator.h"
#include "store/chunks/chunk_upload.h"
#include "store/upkeep/gc.h"
#include "tests/scheduler/job_file_fixtures.h"

enum { CHUNKS = 5, SIZE = (CHUNKS - 1) * CHUNK_SIZE + 1000 };

/* Data of which the first chunk is made for the answer and the store has the others. */
typedef struct Bench {
    ControlFixture fixture;
    uint8_t *data;
    ByteWriter manifest;
    ChunkRef refs[CHUNKS];
    bool kept; /* until the stream's end */
} Bench;

static void bench_close(Bench *bench) {
    byte_writer_deinit(&bench->manifest);
    memory_free(bench->data);
    control_fixture_deinit(&bench->fixture);
}
#define OWN_BENCH(name) __attribute__((cleanup(bench_close))) name

static void let_go(void *keeper) { *(bool *)keeper = false; }

static void bench_open(Bench *bench) {
    OWN(ContainerWriter, writer) = NULL;
    Digest identity;
    uint64_t seed = 3;
    uint32_t index;
    void *memory;
    *bench = (Bench){.kept = true};
    control_fixture_init(&bench->fixture);
    assert_ok(memory_alloc(SIZE, 1, &memory));
    bench->data = memory;
    for (size_t i = 0; i < SIZE; i++) bench->data[i] = (uint8_t)test_random(&seed);
    ChunkUpload *upload;
    assert_ok(chunk_upload_open(bench->fixture.store, TENANT_DEFAULT, &upload));
    assert_ok(chunk_write_data(NULL, bench->data, SIZE, CHUNK_SIZE, CHUNK_FILTER_BYTES,
        (KnownChunks){0}, chunk_upload_sink(upload), bench->refs));
    assert_ok(chunk_upload_flush(upload));
    chunk_upload_close(upload);
    assert_ok(container_writer_create(CONTAINER_CHECKPOINT, NULL, (ChunkSink){0}, &writer));
    assert_ok(container_writer_add_bulk_refs(writer, bench->refs, SIZE, CHUNK_SIZE, &index));
    assert_ok(container_writer_finish(writer, &bench->manifest, &identity));
}

/* The first chunk, as it was made when the answer was planned. */
static Error *make_again(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    const Bench *bench = self;
    assert_true(digest_equal(&ref->hash, &bench->refs[0].hash));
    inout_stored->size = 0;
    return chunk_encode(bench->data, ref->raw_size, CHUNK_FILTER_BYTES, inout_stored);
}

static void open_answer(Bench *bench, HttpStream *out) {
    ContainerAnswer *answer;
    ChunkRef first;
    assert_ok(container_answer_create(bench->fixture.store, TENANT_DEFAULT, &answer));
    assert_ok(chunk_write_data(NULL, bench->data, CHUNK_SIZE, CHUNK_SIZE, CHUNK_FILTER_BYTES,
        (KnownChunks){0}, container_answer_sink(answer, (ChunkSource){make_again, bench}), &first));
    assert_ok(container_answer_add(answer, bench->refs, CHUNKS));
    assert_ok(container_answer_finish(
        answer, bench->manifest.data, bench->manifest.size, &bench->kept, let_go, 7, out));
    assert_true(out->held > CHUNK_SIZE);
}

static void test_container_answer_is_the_file(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    OWN(Container, container) = NULL;
    HttpStream stream;
    void *memory;
    bench_open(&bench);
    open_answer(&bench, &stream);
    const char *path = job_file_path(&bench.fixture, "answer.lvc");
    assert_ok(job_file_pull(&stream, path));
    assert_false(bench.kept);
    assert_ok(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    assert_ok(memory_alloc(SIZE, 1, &memory));
    const BulkRead read = {0, memory};
    assert_ok(container_read_bulks(container, &read, 1, NULL, CHUNK_VERIFY_SHA256));
    assert_memory_equal(memory, bench.data, SIZE);
    memory_free(memory);
}

/* No piece is much larger than a chunk, and between two the store is not held. */
static void test_container_answer_comes_in_pieces(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    HttpStream stream;
    HttpStreamState at = HTTP_STREAM_MORE;
    GcResult result;
    size_t pieces = 0;
    bench_open(&bench);
    open_answer(&bench, &stream);
    while (at == HTTP_STREAM_MORE && pieces < 100) {
        ByteWriter OWN_BYTES(piece) = {0};
        assert_ok(stream.pull(stream.self, &piece, &at));
        assert_true(piece.size < 2 * CHUNK_SIZE);
        if (++pieces < 2) continue;
        assert_ok(gc_run(bench.fixture.store, &result)); /* nobody keeps the chunks here */
        break;
    }
    ByteWriter OWN_BYTES(piece) = {0};
    assert_fails(NOT_FOUND, stream.pull(stream.self, &piece, &at));
    stream.close(stream.self);
    assert_false(bench.kept);
}

static void test_container_answer_refuses_what_the_store_lacks(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    OWN(ContainerAnswer, answer) = NULL;
    HttpStream stream;
    bench_open(&bench);
    ChunkRef strange = bench.refs[0];
    strange.hash.bytes[0] ^= 1;
    assert_ok(container_answer_create(bench.fixture.store, TENANT_DEFAULT, &answer));
    assert_fails(NOT_FOUND, container_answer_add(answer, &strange, 1));
    assert_ok(container_answer_add(answer, bench.refs, CHUNKS - 1));
    assert_fails(INVALID, container_answer_finish(TAKE(answer), bench.manifest.data,
                              bench.manifest.size, &bench.kept, let_go, 0, &stream));
    assert_false(bench.kept);
}

int test_container_answer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container_answer_is_the_file),
        cmocka_unit_test(test_container_answer_comes_in_pieces),
        cmocka_unit_test(test_container_answer_refuses_what_the_store_lacks),
    };
    return cmocka_run_group_tests_name("container_answer", tests, NULL, NULL);
}
