#include "store/database/disk_room.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "store/database/transaction.h"
#include "tests/store/small_disk.h"
#include "tests/store/store_fixtures.h"

enum { DISK_MIB = 40, LONG_BYTES = CHUNK_SIZE, LONG_CHUNKS = 6, CHANGES = 3000 };

static Error *change(Store *store, bool frees, const char *sql) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    transaction.frees = frees;
    TRY(connection_execute(transaction.connection, sql));
    return transaction_commit(&transaction);
}

/* What is deleted becomes room for what comes, wherever the log ended when the disk became full. */
static void test_disk_room_is_kept_for_deleting(void **state) {
    (void)state;
    TestHome OWN_SMALL_DISK(home) = small_disk_make(DISK_MIB);
    for (int copied = 0; copied < 2; copied++) {
        OWN(Store, store) = fixture_open(&home);
        GcResult result;
        expect_ok(
            fixture_register(store, TENANT_DEFAULT, "a", 1, LONG_CHUNKS, LONG_BYTES, NULL, NULL));
        expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 90, 2, LONG_BYTES, NULL, NULL));
        for (DatabaseKind kind = 0; copied && kind < DATABASE_COUNT; kind++) {
            Transaction OWN_TRANSACTION(lock) = transaction_lock(store, kind);
            expect_ok(connection_checkpoint(lock.connection, NULL));
        }
        small_disk_fill(&home);
        expect_error(
            fixture_register(store, TENANT_DEFAULT, "c", 200, LONG_CHUNKS, LONG_BYTES, NULL, NULL),
            ERROR_EXHAUSTED, "no space left");
        expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
        expect_ok(gc_run(store, &result));
        assert_true(result.chunks >= LONG_CHUNKS); /* with what came of c */
        fixture_expect_clean(store);
        expect_ok(fixture_register(store, TENANT_DEFAULT, "d", 300, 2, LONG_BYTES, NULL, NULL));
        expect_ok(models_remove(store, TENANT_DEFAULT, "b", NULL));
        expect_ok(models_remove(store, TENANT_DEFAULT, "d", NULL));
        small_disk_empty(&home);
    }
}

/* Far more of them than the log has room for: it begins anew. */
static void test_disk_room_lets_small_changes_go_on(void **state) {
    (void)state;
    TestHome OWN_SMALL_DISK(home) = small_disk_make(DISK_MIB);
    OWN(Store, store) = fixture_open(&home);
    expect_ok(store_take_room(store));
    small_disk_fill(&home);
    for (int i = 0; i < CHANGES; i++)
        expect_ok(change(store, true, "UPDATE tenants SET created = created + 1"));
    fixture_expect_clean(store);
}

/* What only grows is refused before it has taken the spare. */
static void test_disk_room_is_not_for_what_grows(void **state) {
    (void)state;
    TestHome OWN_SMALL_DISK(home) = small_disk_make(DISK_MIB);
    OWN(Store, store) = fixture_open(&home);
    expect_ok(store_take_room(store));
    small_disk_fill(&home);
    static const char grow[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)"
        " INSERT INTO tenants (name, created) SELECT hex(randomblob(30)), 0.0 FROM n";
    Error *error = NULL;
    for (int i = 0; i < CHANGES && !error; i++) error = change(store, false, grow);
    expect_error(error, ERROR_EXHAUSTED, "no space left");
    expect_error(change(store, false, grow), ERROR_EXHAUSTED, "no space left");
    expect_ok(change(store, true, grow)); /* a little */
    expect_ok(change(store, true, "DELETE FROM tenants WHERE id > 1"));
    expect_ok(change(store, false, grow)); /* in the place of what went */
    fixture_expect_clean(store);
}

static uint64_t size_of(const TestHome *home, const char *name) {
    struct stat status;
    assert_int_equal(stat(fixture_path(home, name), &status), 0);
    return (uint64_t)status.st_size;
}

/* The blocks are beyond the files' ends: nobody sees longer files. */
static void test_disk_room_is_not_in_the_files(void **state) {
    (void)state;
    TestHome OWN_SMALL_DISK(home) = small_disk_make(DISK_MIB);
    OWN(Store, store) = fixture_open(&home);
    struct statvfs before, after;
    assert_int_equal(statvfs(home.path, &before), 0);
    expect_ok(store_take_room(store));
    assert_int_equal(statvfs(home.path, &after), 0);
    uint64_t taken = (uint64_t)(before.f_bavail - after.f_bavail) * before.f_frsize, ahead = 0;
    for (int i = 0; i < DATABASE_COUNT; i++) ahead += (uint64_t)database_infos[i].log_room;
    assert_true(taken >= ahead);
    assert_true(size_of(&home, "catalog.db-wal") < ahead);
    assert_true(size_of(&home, "chunks.db-wal") < ahead);
}

TEST_GROUP(disk_room, cmocka_unit_test(test_disk_room_is_kept_for_deleting),
    cmocka_unit_test(test_disk_room_lets_small_changes_go_on),
    cmocka_unit_test(test_disk_room_is_not_for_what_grows),
    cmocka_unit_test(test_disk_room_is_not_in_the_files))
