#include <pthread.h>
#include <string.h>

#include "tests/store/store_fixtures.h"

enum { CHUNKS = 60, CHUNK_BYTES = 30000, THREADS = 4 };

static void upload(Store *store, uint32_t seed, uint32_t count) {
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, seed, count, CHUNK_BYTES));
    expect_ok(chunk_upload_flush(upload));
}

static Error *read_one(ChunkSource source, uint32_t seed, ByteWriter *stored) {
    static _Thread_local uint8_t raw[CHUNK_BYTES], expected[CHUNK_BYTES];
    ChunkRef ref;
    fixture_make_raw(seed, CHUNK_BYTES, expected);
    TRY(digest_sha256(expected, CHUNK_BYTES, &ref.hash));
    ref.raw_size = CHUNK_BYTES;
    TRY(source.get(source.self, &ref, stored));
    TRY(chunk_decode(stored->data, stored->size, &ref, CHUNK_VERIFY_SHA256, raw));
    if (memcmp(raw, expected, CHUNK_BYTES) != 0) FAIL(CORRUPT, "other bytes");
    return NULL;
}

static void test_chunk_reader_gets_what_was_put(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkReader, reader) = NULL;
    ByteWriter OWN_BYTES(stored) = {0};
    upload(store, 0, CHUNKS);
    expect_ok(chunk_reader_open(store, TENANT_DEFAULT, &reader));
    for (uint32_t i = CHUNKS; i-- > 0;)
        expect_ok(read_one(chunk_reader_source(reader), i, &stored));
}

static void test_chunk_reader_misses_what_is_not_there(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkReader, reader) = NULL;
    OWN(ChunkReader, other) = NULL;
    ByteWriter OWN_BYTES(stored) = {0};
    upload(store, 0, 1);
    expect_ok(chunk_reader_open(store, TENANT_DEFAULT, &reader));
    expect_error(
        read_one(chunk_reader_source(reader), 1, &stored), ERROR_NOT_FOUND, "is not in the store");
    expect_ok(chunk_reader_open(store, TENANT_DEFAULT + 1, &other));
    expect_error(
        read_one(chunk_reader_source(other), 0, &stored), ERROR_NOT_FOUND, "is not in the store");
}

/* An open blob handle pins the moment at which it was opened. */
static void test_chunk_reader_sees_chunks_that_came_later(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkReader, reader) = NULL;
    ByteWriter OWN_BYTES(stored) = {0};
    upload(store, 0, 2);
    expect_ok(chunk_reader_open(store, TENANT_DEFAULT, &reader));
    expect_ok(read_one(chunk_reader_source(reader), 0, &stored));
    upload(store, 2, 2);
    expect_ok(read_one(chunk_reader_source(reader), 3, &stored));
    expect_ok(read_one(chunk_reader_source(reader), 1, &stored));
}

typedef struct ReadingThread {
    ChunkSource source;
    uint32_t first;
    Error *error;
} ReadingThread;

static void *read_all(void *context) {
    ReadingThread *thread = context;
    ByteWriter OWN_BYTES(stored) = {0};
    for (uint32_t i = 0; i < 3 * CHUNKS && !thread->error; i++)
        thread->error = read_one(thread->source, (thread->first + i) % CHUNKS, &stored);
    return NULL;
}

static void test_chunk_reader_serves_threads_at_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkReader, reader) = NULL;
    upload(store, 0, CHUNKS);
    expect_ok(chunk_reader_open(store, TENANT_DEFAULT, &reader));
    pthread_t threads[THREADS];
    ReadingThread work[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        work[i] = (ReadingThread){chunk_reader_source(reader), i * 7, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &work[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        expect_ok(work[i].error);
    }
}

TEST_GROUP(chunk_reader, cmocka_unit_test(test_chunk_reader_gets_what_was_put),
    cmocka_unit_test(test_chunk_reader_misses_what_is_not_there),
    cmocka_unit_test(test_chunk_reader_sees_chunks_that_came_later),
    cmocka_unit_test(test_chunk_reader_serves_threads_at_once))
