#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/database/schema_upgrade.h"
#include "tests/store/job_fixtures.h"

static void expect_open_fails(const TestHome *home, ErrorCode code, const char *text) {
    Store *store = NULL;
    expect_error(store_open(home->path, STORE_CREATE, &store), code, text);
    assert_null(store);
}

static void make_store(const TestHome *home) { store_close(fixture_open(home)); }

static Digest digest_file(const TestHome *home, const char *name) {
    uint8_t *data;
    size_t size;
    Digest digest;
    expect_ok(file_read(fixture_path(home, name), 1 << 30, &data, &size));
    expect_ok(digest_sha256(data, size, &digest));
    memory_unmap(data, size);
    return digest;
}

static void test_schema_upgrade_brings_a_new_home_to_the_latest_version(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    make_store(&home);
    for (int kind = 0; kind < DATABASE_COUNT; kind++) {
        const DatabaseInfo *info = &database_infos[kind];
        assert_int_equal(fixture_read_sql(&home, info->file, "PRAGMA user_version"),
            schema_upgrade_latest((DatabaseKind)kind));
        assert_int_equal(
            fixture_read_sql(&home, info->file, "PRAGMA application_id"), info->application_id);
        assert_int_equal(fixture_read_sql(&home, info->file, "PRAGMA page_size"), info->page_size);
    }
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "PRAGMA auto_vacuum"), 2);
}

/* One line that names both versions, and not a byte changed. */
static void test_schema_upgrade_refuses_a_newer_store_and_leaves_it_alone(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    make_store(&home);
    fixture_run_sql(&home, "catalog.db", "PRAGMA user_version = 77");
    Digest before = digest_file(&home, "catalog.db");
    expect_open_fails(&home, ERROR_UNSUPPORTED,
        "catalog.db: store version 77, this Layover knows up to 9; use a newer one");
    Digest after = digest_file(&home, "catalog.db");
    assert_true(digest_equal(&before, &after));
    fixture_run_sql(&home, "catalog.db", "PRAGMA user_version = 7");
    fixture_run_sql(&home, "chunks.db", "PRAGMA user_version = 2147483647");
    expect_open_fails(&home, ERROR_UNSUPPORTED, "chunks.db: store version 2147483647");
}

/* What an older Layover stored is there, counted, and takes jobs. */
static void test_schema_upgrade_brings_a_first_version_with_data_along(void **state) {
    (void)state;
    TestHome OWN_HOME(modern) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    TextBuilder OWN_TEXT(before) = {0};
    TextBuilder OWN_TEXT(after) = {0};
    Tenant expected, ada;
    {
        OWN(Store, store) = fixture_open(&modern);
        TenantId id = fixture_add_tenant(store, "ada");
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 3, 700, "prod", NULL));
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 2, 3, 700, NULL, NULL));
        expect_ok(fixture_register(store, id, "b", 9, 2, 700, NULL, NULL));
        expect_ok(tenants_get(store, id, &expected));
        fixture_print_state(store, &before);
    }
    fixture_make_version_1(&modern, &home);
    OWN(Store, store) = fixture_open(&home);
    fixture_print_state(store, &after);
    assert_string_equal(text_builder_get(&before), text_builder_get(&after));
    expect_ok(tenants_get(store, expected.id, &ada));
    assert_int_equal(ada.bytes_stored, expected.bytes_stored);
    assert_int_equal(ada.weight, 1);
    assert_int_equal(ada.retention_s, TENANT_RETENTION_DEFAULT_S);
    fixture_expect_clean(store);
    JobId id = fixture_submit(store, ada.id);
    assert_true(id.node > 0 && id.number == 1);
    fixture_expect_clean(store);
    store_close(TAKE(store));
    assert_int_equal(fixture_read_sql(&home, "catalog.db", "PRAGMA user_version"),
        schema_upgrade_latest(DATABASE_CATALOG));
}

static void test_schema_upgrade_refuses_files_of_other_programs(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fixture_run_sql(&home, "catalog.db", "CREATE TABLE songs (title TEXT)");
    Digest before = digest_file(&home, "catalog.db");
    expect_open_fails(&home, ERROR_CORRUPT, "catalog.db: not a file of Layover's");
    Digest after = digest_file(&home, "catalog.db");
    assert_true(digest_equal(&before, &after));
}

static void test_schema_upgrade_refuses_one_database_in_the_place_of_the_other(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    make_store(&home);
    char from[FIXTURE_PATH_SIZE * 2];
    (void)snprintf(from, sizeof from, "%s", fixture_path(&home, "catalog.db"));
    assert_int_equal(rename(from, fixture_path(&home, "chunks.db")), 0);
    expect_open_fails(&home, ERROR_CORRUPT, "chunks.db: not a file of Layover's");
}

static void test_schema_upgrade_refuses_impossible_versions(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    make_store(&home);
    fixture_run_sql(&home, "catalog.db", "PRAGMA user_version = -3");
    expect_open_fails(&home, ERROR_CORRUPT, "impossible version -3");
}

static void test_schema_upgrade_refuses_what_is_no_database(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    static const char text[4096] = "My shopping list: bread, butter, figs.";
    expect_ok(file_write_atomic(fixture_path(&home, "catalog.db"), text, sizeof text));
    expect_open_fails(&home, ERROR_CORRUPT, "catalog.db: damaged");
}

static void test_schema_upgrade_finishes_a_store_that_was_left_empty(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    expect_ok(file_write_atomic(fixture_path(&home, "catalog.db"), "", 0));
    expect_ok(file_write_atomic(fixture_path(&home, "chunks.db"), "", 0));
    OWN(Store, store) = fixture_open(&home);
    fixture_expect_clean(store);
}

static bool both_done(const TestHome *home) {
    return schema_upgrade_is_done(home->path, DATABASE_CATALOG) &&
           schema_upgrade_is_done(home->path, DATABASE_CHUNKS);
}

/* What the header does not settle is looked at with SQLite. */
static void test_schema_upgrade_is_done_where_the_header_says_so(void **state) {
    (void)state;
    static const char *const changes[] = {"PRAGMA user_version = 0", "PRAGMA user_version = 99",
        "PRAGMA application_id = 7", "PRAGMA journal_mode = DELETE"};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        TestHome OWN_HOME(home) = fixture_home_make();
        assert_false(both_done(&home));
        make_store(&home);
        assert_true(both_done(&home));
        fixture_run_sql(&home, "chunks.db", changes[i]);
        assert_true(schema_upgrade_is_done(home.path, DATABASE_CATALOG));
        assert_false(schema_upgrade_is_done(home.path, DATABASE_CHUNKS));
    }
    TestHome OWN_HOME(home) = fixture_home_make();
    make_store(&home);
    expect_ok(file_write_atomic(fixture_path(&home, "catalog.db-wal"), "x", 1));
    assert_false(schema_upgrade_is_done(home.path, DATABASE_CATALOG));
    expect_ok(file_write_atomic(fixture_path(&home, "catalog.db-wal"), "", 0));
    assert_true(schema_upgrade_is_done(home.path, DATABASE_CATALOG));
    assert_int_equal(truncate(fixture_path(&home, "catalog.db"), 99), 0);
    assert_false(schema_upgrade_is_done(home.path, DATABASE_CATALOG));
}

TEST_GROUP(schema_upgrade,
    cmocka_unit_test(test_schema_upgrade_brings_a_new_home_to_the_latest_version),
    cmocka_unit_test(test_schema_upgrade_refuses_a_newer_store_and_leaves_it_alone),
    cmocka_unit_test(test_schema_upgrade_brings_a_first_version_with_data_along),
    cmocka_unit_test(test_schema_upgrade_refuses_files_of_other_programs),
    cmocka_unit_test(test_schema_upgrade_refuses_one_database_in_the_place_of_the_other),
    cmocka_unit_test(test_schema_upgrade_refuses_impossible_versions),
    cmocka_unit_test(test_schema_upgrade_refuses_what_is_no_database),
    cmocka_unit_test(test_schema_upgrade_finishes_a_store_that_was_left_empty),
    cmocka_unit_test(test_schema_upgrade_is_done_where_the_header_says_so))
