#include <string.h>
#include <unistd.h>

#include "store/chunks/chunk_upload_internal.h"
#include "store/database/transaction.h"
#include "store/accounts/tenants.h"
#include "tests/store/job_fixtures.h"

static int64_t count_chunks(const TestHome *home) {
    return fixture_read_sql(home, "chunks.db", "SELECT count(*) FROM chunks");
}

static void test_chunk_upload_finds_what_it_put_and_what_is_stored(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ByteWriter OWN_BYTES(stored) = {0};
    ChunkRef ref;
    bool found;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    ChunkSink sink = chunk_upload_sink(upload);
    fixture_make_chunk(1, 1000, &ref, &stored);
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    assert_false(found);
    expect_ok(sink.put(sink.self, &ref, stored.data, stored.size));
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    assert_true(found);
    expect_ok(sink.put(sink.self, &ref, stored.data, stored.size)); /* twice is once */
    expect_ok(chunk_upload_flush(upload));
    chunk_upload_close(TAKE(upload));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    sink = chunk_upload_sink(upload);
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    assert_true(found);
    assert_int_equal(count_chunks(&home), 1);
}

/* Whether another tenant has the same bytes must not show. */
static void test_chunk_upload_finds_nothing_of_another_tenant(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, mine) = NULL;
    OWN(ChunkUpload, other) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &mine));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT + 1, &other));
    expect_ok(fixture_upload(mine, 1, 3, 1000));
    expect_ok(chunk_upload_flush(mine));
    ChunkRef ref;
    bool found;
    fixture_make_chunk(1, 1000, &ref, NULL);
    ChunkSink sink = chunk_upload_sink(other);
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    assert_false(found);
    expect_ok(fixture_upload(other, 1, 3, 1000));
    expect_ok(chunk_upload_flush(other));
    assert_int_equal(count_chunks(&home), 6);
}

static void test_chunk_upload_drops_what_was_not_flushed(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 3, 1000));
    chunk_upload_close(TAKE(upload));
    assert_int_equal(count_chunks(&home), 0);
}

/* What a tenant sends for nothing must not stay on the disk, charged to nobody; what somebody else
 * has, or refers to, does. */
static void test_chunk_upload_takes_back_what_nobody_keeps(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    OWN(ChunkUpload, other) = NULL;
    expect_ok(fixture_register(store, TENANT_DEFAULT, "m", 1, 2, 1000, NULL, NULL)); /* 1, 2 */
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    chunk_upload_limit(upload);
    expect_ok(fixture_upload(upload, 2, 4, 1000)); /* 2 … 5 */
    expect_ok(chunk_upload_flush(upload));
    assert_int_equal(count_chunks(&home), 5);
    assert_true(in_flight_bytes(store, TENANT_DEFAULT) > 0);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &other));
    expect_ok(fixture_upload(other, 5, 1, 1000)); /* found: it is pinned */
    chunk_upload_close(TAKE(upload));
    assert_int_equal(count_chunks(&home), 3); /* 1, 2 and 5 */
    assert_int_equal(in_flight_bytes(store, TENANT_DEFAULT), 0);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    chunk_upload_limit(upload);
    expect_ok(fixture_upload(upload, 3, 2, 1000)); /* not found any more */
    expect_ok(chunk_upload_flush(upload));
    assert_true(in_flight_bytes(store, TENANT_DEFAULT) > 0);
    assert_int_equal(in_flight_unsettled_bytes(store, TENANT_DEFAULT), 0);
    chunk_upload_keep(upload);
    assert_int_equal(in_flight_bytes(store, TENANT_DEFAULT), 0); /* a row has it */
    chunk_upload_close(TAKE(upload));
    assert_int_equal(count_chunks(&home), 5);
}

static void test_chunk_upload_is_charged_while_it_lasts(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(fixture_end(
        tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, 10000)));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    chunk_upload_limit(upload);
    expect_error(fixture_upload(upload, 1, 40, 1000), ERROR_EXHAUSTED, "store_bytes is 10000");
    chunk_upload_close(TAKE(upload));
    assert_int_equal(count_chunks(&home), 0);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(
        fixture_upload(upload, 1, 40, 1000)); /* what a job makes is charged as it is stored */
}

static void test_chunk_upload_refuses_sizes_beyond_the_limits(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    ChunkSink sink = chunk_upload_sink(upload);
    static const uint8_t bytes[CHUNK_STORED_SIZE_MAX + 1];
    ChunkRef empty = {.raw_size = 0}, big = {.raw_size = CHUNK_SIZE + 1}, right = {.raw_size = 1};
    expect_error(sink.put(sink.self, &empty, bytes, 1), ERROR_INVALID, "beyond the limits");
    expect_error(sink.put(sink.self, &big, bytes, 1), ERROR_INVALID, "beyond the limits");
    expect_error(sink.put(sink.self, &right, bytes, 0), ERROR_INVALID, "beyond the limits");
    expect_error(
        sink.put(sink.self, &right, bytes, sizeof bytes), ERROR_INVALID, "beyond the limits");
    expect_ok(sink.put(sink.self, &right, bytes, sizeof bytes - 1));
    expect_ok(chunk_upload_flush(upload));
}

/* One name with two sizes: one of the references lies. */
static void test_chunk_upload_refuses_a_name_with_another_size(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 1, 1000));
    ChunkRef ref;
    bool found;
    fixture_make_chunk(1, 1000, &ref, NULL);
    ref.raw_size = 999;
    ChunkSink sink = chunk_upload_sink(upload);
    expect_error(
        sink.find(sink.self, &ref, 1, &found), ERROR_CORRUPT, "999 bytes here and of 1000");
    expect_ok(chunk_upload_flush(upload));
    chunk_upload_close(TAKE(upload));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    sink = chunk_upload_sink(upload);
    expect_error(
        sink.find(sink.self, &ref, 1, &found), ERROR_CORRUPT, "999 bytes here and of 1000");
}

/* Names count through, so that every chunk is another. */
static Error *put_numbered(ChunkUpload *upload, uint32_t number, void *bytes, size_t size) {
    ChunkSink sink = chunk_upload_sink(upload);
    ChunkRef ref = {.raw_size = 1};
    memcpy(ref.hash.bytes, &number, sizeof number);
    memcpy(bytes, &number, sizeof number);
    return sink.put(sink.self, &ref, bytes, size);
}

/* What is in memory is bounded in bytes and in chunks. */
static void test_chunk_upload_writes_in_bounded_transactions(void **state) {
    (void)state;
    enum { MEBIBYTE = 1 << 20, CHUNKS = 160, SMALL_CHUNKS = 5000 };
    static uint8_t bytes[MEBIBYTE];
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    for (uint32_t i = 0; i < CHUNKS; i++) {
        expect_ok(put_numbered(upload, i, bytes, sizeof bytes));
        assert_true(upload->pending.bytes.size <= 32 * MEBIBYTE);
    }
    expect_ok(chunk_upload_flush(upload));
    for (uint32_t i = 0; i < SMALL_CHUNKS; i++) {
        expect_ok(put_numbered(upload, CHUNKS + i, bytes, 8));
        assert_true(upload->pending.count <= 4096);
    }
    expect_ok(chunk_upload_flush(upload));
    assert_int_equal(count_chunks(&home), CHUNKS + SMALL_CHUNKS);
}

static uint64_t count_durable(const Store *store) {
    return atomic_load(&store->writers[DATABASE_CHUNKS].durable_commits);
}

/* A flush waits for the disk when something the upload holds is not durable yet, whoever put it. */
static void test_chunk_upload_flushes_what_it_depends_on(void **state) {
    (void)state;
    enum { MANY = 4096 + 1 }; /* one more than a transaction holds */
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    OWN(ChunkUpload, idle) = NULL;
    OWN(ChunkUpload, finder) = NULL;
    uint8_t bytes[8];
    bool found = false;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &idle));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &finder));
    for (uint32_t i = 0; i < MANY; i++) expect_ok(put_numbered(upload, i, bytes, sizeof bytes));
    ChunkRef ref = {.raw_size = 1}; /* number 0 */
    ChunkSink sink = chunk_upload_sink(finder);
    for (int i = 0; i < 60000 && !found; i++) {
        expect_ok(sink.find(sink.self, &ref, 1, &found));
        if (!found) (void)usleep(1000); /* it is being written */
    }
    assert_true(found);
    assert_true(count_durable(store) < transaction_last(store, DATABASE_CHUNKS));
    expect_ok(chunk_upload_flush(idle));
    assert_true(count_durable(store) < transaction_last(store, DATABASE_CHUNKS));
    atomic_store(&store->sync_failed, true);
    expect_error(chunk_upload_flush(finder), ERROR_IO, "failed to sync before");
    expect_error(chunk_upload_flush(finder), ERROR_CONFLICT, "failed before");
    atomic_store(&store->sync_failed, false);
    chunk_upload_close(TAKE(finder));
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &finder));
    sink = chunk_upload_sink(finder);
    expect_ok(sink.find(sink.self, &ref, 1, &found));
    expect_ok(chunk_upload_flush(finder));
    assert_int_equal(count_durable(store), transaction_last(store, DATABASE_CHUNKS));
    expect_ok(chunk_upload_flush(upload));
    assert_int_equal(count_durable(store), transaction_last(store, DATABASE_CHUNKS));
    assert_int_equal(count_chunks(&home), MANY);
}

/* Looking for chunks goes on while somebody else's are being written. */
static void test_chunk_upload_finds_while_others_write(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef ref;
    bool found;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 1, 1000));
    expect_ok(chunk_upload_flush(upload));
    fixture_make_chunk(1, 1000, &ref, NULL);
    OWN(ChunkUpload, other) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &other));
    {
        Transaction OWN_TRANSACTION(lock) = transaction_lock(store, DATABASE_CHUNKS);
        ChunkSink sink = chunk_upload_sink(other);
        expect_ok(sink.find(sink.self, &ref, 1, &found));
        assert_true(found);
        ref.hash.bytes[0] ^= 1;
        expect_ok(sink.find(sink.self, &ref, 1, &found));
        assert_false(found);
    }
}

/* Written on another thread: who puts next is told, and the upload is of no use any more. */
static void test_chunk_upload_tells_what_its_writer_met(void **state) {
    (void)state;
    enum { MEBIBYTE = 1 << 20 };
    static uint8_t bytes[MEBIBYTE];
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    Error *error = NULL;
    uint32_t count = 0;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    atomic_store(&store->sync_failed, true);
    while (!error && count < 200) error = put_numbered(upload, count++, bytes, sizeof bytes);
    assert_in_range(count, 9, 20); /* the first batch fails behind the second one's back */
    expect_error(error, ERROR_IO, "the disk failed to sync before");
    expect_error(chunk_upload_flush(upload), ERROR_CONFLICT, "failed before");
    atomic_store(&store->sync_failed, false);
    assert_int_equal(count_chunks(&home), 0);
}

TEST_GROUP(chunk_upload, cmocka_unit_test(test_chunk_upload_finds_what_it_put_and_what_is_stored),
    cmocka_unit_test(test_chunk_upload_finds_nothing_of_another_tenant),
    cmocka_unit_test(test_chunk_upload_drops_what_was_not_flushed),
    cmocka_unit_test(test_chunk_upload_takes_back_what_nobody_keeps),
    cmocka_unit_test(test_chunk_upload_is_charged_while_it_lasts),
    cmocka_unit_test(test_chunk_upload_refuses_sizes_beyond_the_limits),
    cmocka_unit_test(test_chunk_upload_refuses_a_name_with_another_size),
    cmocka_unit_test(test_chunk_upload_finds_while_others_write),
    cmocka_unit_test(test_chunk_upload_tells_what_its_writer_met),
    cmocka_unit_test(test_chunk_upload_flushes_what_it_depends_on),
    cmocka_unit_test(test_chunk_upload_writes_in_bounded_transactions))
