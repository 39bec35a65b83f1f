#include "store/database/log_copier.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database/transaction.h"
#include "tests/store/store_fixtures.h"

enum { MEBIBYTE = 1 << 20, LARGE = 60, PATIENCE_MS = 60000 };

static int64_t size_of(const TestHome *home, const char *file) {
    struct stat status;
    assert_int_equal(stat(fixture_path(home, file), &status), 0);
    return status.st_size;
}

static void upload(Store *store, uint32_t seed, uint32_t mebibytes) {
    static uint8_t bytes[MEBIBYTE];
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    ChunkSink sink = chunk_upload_sink(upload);
    for (uint32_t i = 0; i < mebibytes; i++) {
        ChunkRef ref = {.raw_size = 1};
        memcpy(ref.hash.bytes, &(uint32_t){seed + i}, sizeof(uint32_t));
        expect_ok(sink.put(sink.self, &ref, bytes, sizeof bytes));
    }
    expect_ok(chunk_upload_flush(upload));
}

static bool wait_for_copy(const TestHome *home, int64_t size) {
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        if (size_of(home, "chunks.db") >= size) return true;
        (void)usleep(1000);
    }
    return false;
}

/* Whoever writes stops a copy: so it has longer and longer pauses. */
static bool wait_for_new_log(Store *store, const TestHome *home, uint32_t seed) {
    for (uint32_t tries = 1; tries < 20; tries++) {
        (void)usleep(tries * 100000);
        upload(store, seed + tries, 1);
        if (size_of(home, "chunks.db-wal") < 50 * MEBIBYTE) return true;
    }
    return false;
}

/* Afterwards the log begins anew, and gives back what it has beyond its usual size. */
static void test_log_copier_copies_when_nothing_is_written(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    upload(store, 0, LARGE);
    assert_true(size_of(&home, "chunks.db-wal") > (int64_t)LARGE * MEBIBYTE);
    assert_true(wait_for_copy(&home, (int64_t)LARGE * MEBIBYTE));
    assert_true(wait_for_new_log(store, &home, LARGE));
    int64_t count = fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks");
    assert_true(count > LARGE);
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT max(id) FROM chunks"), count);
}

static void test_log_copier_leaves_a_small_log(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    upload(store, 0, 40);
    (void)usleep(200000); /* it would have had 40 ms to wait */
    assert_true(size_of(&home, "chunks.db") < MEBIBYTE);
}

/* Little, but without end: there is no pause of 60 ms. */
static void test_log_copier_waits_not_for_ever(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    bool copied = false;
    upload(store, 0, LARGE);
    for (uint32_t i = 1; i < 20000 && !copied; i++) {
        OWN(ChunkUpload, small) = NULL;
        expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &small));
        expect_ok(fixture_upload(small, i, 1, 8));
        expect_ok(chunk_upload_flush(small));
        copied = size_of(&home, "chunks.db") >= (int64_t)LARGE * MEBIBYTE;
        (void)usleep(1000);
    }
    assert_true(copied);
}

/* What a reader may still look at stays in the log; the next pause copies the rest. */
static void test_log_copier_goes_on_behind_a_reader(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    upload(store, 0, 1);
    {
        OWN(Connection, reader) = NULL;
        bool row;
        expect_ok(store_borrow_reader(store, DATABASE_CHUNKS, &reader));
        Query OWN_QUERY(query) = query_start(reader, STATEMENT_LIST_CHUNKS);
        query_bind_i64(&query, 1, 0);
        query_bind_digest(&query, 2, &(Digest){{0}});
        query_bind_i64(&query, 3, 10);
        expect_ok(query_next(&query, &row));
        assert_true(row);
        upload(store, 1, LARGE);
        (void)usleep(300000);
        assert_true(size_of(&home, "chunks.db") < LARGE * MEBIBYTE);
    }
    assert_true(wait_for_copy(&home, (int64_t)LARGE * MEBIBYTE));
}

/* Closing copies what is left, and waits for nothing. */
static void test_log_copier_ends_before_its_time(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    Store *store = fixture_open(&home);
    upload(store, 0, LARGE);
    store_close(store);
    assert_true(size_of(&home, "chunks.db") > (int64_t)LARGE * MEBIBYTE);
    assert_int_not_equal(access(fixture_path(&home, "chunks.db-wal"), F_OK), 0);
}

/* However busy it is. */
static void test_log_copier_is_not_waited_for_without_end(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    upload(store, 0, 1);
    Transaction OWN_TRANSACTION(lock) = transaction_lock(store, DATABASE_CHUNKS);
    Connection *connection = lock.connection;
    int pages = connection->log_pages;
    connection->log_pages = (int)(LOG_SIZE_LAST >> 16) + 1;
    assert_true(connection_wants_checkpoint(connection));
    assert_true(connection_needs_checkpoint(connection));
    connection->log_pages = LARGE << 4; /* pages of 64 KiB */
    assert_true(connection_wants_checkpoint(connection));
    assert_false(
        connection_needs_checkpoint(connection)); /* the disk has four times as much free */
    connection->log_pages = 40 << 4;
    assert_false(connection_wants_checkpoint(connection));
    assert_false(connection_needs_checkpoint(connection));
    connection->log_pages = pages;
}

TEST_GROUP(log_copier, cmocka_unit_test(test_log_copier_copies_when_nothing_is_written),
    cmocka_unit_test(test_log_copier_leaves_a_small_log),
    cmocka_unit_test(test_log_copier_waits_not_for_ever),
    cmocka_unit_test(test_log_copier_goes_on_behind_a_reader),
    cmocka_unit_test(test_log_copier_ends_before_its_time),
    cmocka_unit_test(test_log_copier_is_not_waited_for_without_end))
