#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "store/database/store_connections_internal.h"
#include "store/database/transaction.h"
#include "tests/store/store_fixtures.h"

static int64_t ask(Connection *connection, const char *sql) {
    int64_t value;
    expect_ok(connection_read_i64(connection, sql, &value));
    return value;
}

static void test_connection_has_the_settings_that_the_promises_rest_on(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (int kind = 0; kind < DATABASE_COUNT; kind++) {
        OWN(Connection, reader) = NULL;
        expect_ok(store_borrow_reader(store, (DatabaseKind)kind, &reader));
        Connection *both[] = {store->writers[kind].connection, reader};
        for (int i = 0; i < 2; i++) {
            bool apart = i == 0 && database_infos[kind].syncs_apart;
            assert_int_equal(ask(both[i], "PRAGMA synchronous"), apart ? 1 : 2);
            assert_int_equal(ask(both[i], "PRAGMA foreign_keys"), 1);
            assert_int_equal(ask(both[i], "PRAGMA trusted_schema"), 0);
            assert_int_equal(ask(both[i], "PRAGMA cell_size_check"), 1);
            assert_int_equal(ask(both[i], "PRAGMA busy_timeout"), 5000);
        }
        assert_int_equal(ask(reader, "PRAGMA query_only"), 1);
        assert_int_equal(ask(reader, "PRAGMA cache_size"), 16);
    }
    /* SQLite's own checkpoints are off when another hook has taken their place. */
    assert_int_equal(ask(store->writers[0].connection, "PRAGMA wal_autocheckpoint"), 0);
}

static void test_connection_makes_private_files(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    assert_non_null(store); /* the log is there while it is open */
    static const char *const files[] = {"catalog.db", "chunks.db", "catalog.db-wal", "lock"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct stat status;
        assert_int_equal(stat(fixture_path(&home, files[i]), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
    }
}

static void test_connection_of_a_reader_writes_nothing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(Connection, reader) = NULL;
    expect_ok(store_borrow_reader(store, DATABASE_CATALOG, &reader));
    expect_error(connection_execute(reader, "DELETE FROM tenants"), ERROR_IO, "readonly");
    assert_int_equal(ask(reader, "SELECT count(*) FROM tenants"), 1);
}

static void test_connection_waits_for_nobody_for_ever(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(fixture_path(&home, "catalog.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(store->writers[DATABASE_CATALOG].connection->handle, 10);
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "b", 1), ERROR_REFUSED,
        "catalog.db: another program holds it locked");
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "b", 1), ERROR_NOT_FOUND, "a@1");
}

/* Each kind of SQLite failure has its code; none passes for another. */
static void test_connection_error_tells_failures_apart(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Connection *catalog = store->writers[DATABASE_CATALOG].connection;
    expect_error(connection_error(catalog, SQLITE_FULL), ERROR_EXHAUSTED, "no space left");
    expect_error(connection_error(catalog, SQLITE_NOMEM), ERROR_OUT_OF_MEMORY, "memory");
    expect_error(connection_error(catalog, SQLITE_IOERR_NOMEM), ERROR_OUT_OF_MEMORY, "memory");
    expect_error(connection_error(catalog, SQLITE_CORRUPT), ERROR_CORRUPT, "damaged");
    expect_error(connection_error(catalog, SQLITE_BUSY_RECOVERY), ERROR_REFUSED, "locked");
    expect_error(connection_error(catalog, SQLITE_CONSTRAINT_UNIQUE), ERROR_CORRUPT, "contradicts");
    expect_error(connection_error(catalog, SQLITE_TOOBIG), ERROR_INVALID, "one row");
    expect_error(connection_error(catalog, SQLITE_IOERR_READ), ERROR_IO, "catalog.db");
    expect_error(connection_error(catalog, SQLITE_MISUSE), ERROR_INTERNAL, "catalog.db");
    assert_false(atomic_load(&store->sync_failed));
    expect_error(connection_error(catalog, SQLITE_IOERR_DIR_FSYNC), ERROR_IO, "failed to sync");
    assert_true(atomic_load(&store->sync_failed));
}

TEST_GROUP(connection, cmocka_unit_test(test_connection_has_the_settings_that_the_promises_rest_on),
    cmocka_unit_test(test_connection_makes_private_files),
    cmocka_unit_test(test_connection_of_a_reader_writes_nothing),
    cmocka_unit_test(test_connection_waits_for_nobody_for_ever),
    cmocka_unit_test(test_connection_error_tells_failures_apart))
