#include <string.h>

#include "store/database/row_costs.h"
#include "tests/store/store_fixtures.h"

enum { BYTES = 900 };

static FsckResult *check(Store *store, const FsckOptions *options) {
    FsckResult *result = NULL;
    expect_ok(fsck_run(store, options, &result));
    return result;
}

static void expect_one_error(const FsckResult *result, const char *text) {
    assert_int_equal(result->error_count, 1);
    if (!strstr(result->errors[0], text)) fail_msg("%s", result->errors[0]);
}

static void fill(const TestHome *home) {
    OWN(Store, store) = fixture_open(home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 4, BYTES, NULL, NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 10, 3, BYTES, NULL, NULL));
}

static void test_fsck_counts_what_a_sound_store_holds(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    assert_int_equal(result->error_count, 0);
    assert_int_equal(result->executables, 2);
    assert_int_equal(result->chunks, 7);
    assert_int_equal(result->bytes,
        fixture_read_sql(&home, "chunks.db", "SELECT sum(length(stored)) FROM chunks"));
    assert_int_equal(result->orphan_chunks, 0);
}

static void test_fsck_names_the_model_that_misses_a_chunk(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    fixture_run_sql(&home, "chunks.db", "DELETE FROM chunks WHERE id = 6");
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    expect_one_error(result, "b@1 (executable ");
    expect_one_error(result, " is missing");
}

static void test_fsck_finds_tables_of_another_shape(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    fixture_run_sql(&home, "catalog.db", "ALTER TABLE aliases RENAME COLUMN name TO nickname");
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    expect_one_error(result, "catalog.db: its tables are not those of its version");
    expect_error(models_set_alias(store, TENANT_DEFAULT, "a", "prod", 1), ERROR_CORRUPT,
        "its tables are not those of its version");
}

static Error *count_and_check(void *context, const FsckExecutable *executable) {
    int *count = context;
    (*count)++;
    assert_int_equal(executable->tenant, TENANT_DEFAULT);
    Digest digest;
    TRY(digest_sha256(executable->manifest, executable->manifest_size, &digest));
    assert_true(digest_equal(&digest, &executable->identity));
    assert_int_not_equal(executable->chunk_count, 0);
    if (executable->chunk_count == 3) FAIL(CORRUPT, "three is no number of chunks");
    return NULL;
}

static void test_fsck_asks_its_caller_about_every_manifest(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    OWN(Store, store) = fixture_open(&home);
    int count = 0;
    FsckOptions options = {.check_manifest = count_and_check, .check_manifest_context = &count};
    OWN(FsckResult, result) = check(store, &options);
    assert_int_equal(count, 2);
    expect_one_error(result, "three is no number of chunks");
    expect_one_error(result, "b@1 (executable ");
}

static void test_fsck_finds_references_to_nothing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    fixture_run_sql(&home, "catalog.db",
        "PRAGMA foreign_keys = OFF; UPDATE aliases SET version = 9; INSERT INTO aliases (tenant, "
        "model, name, version) VALUES (1, 1, 'x', 9);"
        "UPDATE tenants SET bytes_stored = bytes_stored + " ROW_COST_TEXT(ROW_COST_ALIAS));
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    expect_one_error(result, "catalog.db: a row of aliases refers to no row of versions");
}

static void test_fsck_finds_indexes_that_lie(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    fixture_run_sql(&home, "catalog.db",
        "PRAGMA writable_schema = ON; CREATE TABLE saved AS SELECT * FROM sqlite_schema WHERE "
        "name = 'versions_by_executable'; DELETE FROM sqlite_schema WHERE name = "
        "'versions_by_executable'");
    fixture_run_sql(&home, "catalog.db",
        "DELETE FROM versions WHERE model = 1;"
        "UPDATE tenants SET bytes_stored = bytes_stored - " ROW_COST_TEXT(ROW_COST_VERSION));
    fixture_run_sql(&home, "catalog.db",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM saved");
    fixture_run_sql(&home, "catalog.db", "DROP TABLE saved");
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    expect_one_error(result, "catalog.db: wrong # of entries in index versions_by_executable");
}

static void test_fsck_finds_impossible_sizes(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    fixture_run_sql(&home, "chunks.db",
        "PRAGMA ignore_check_constraints = ON; UPDATE chunks SET raw_size = 0 WHERE id = 2");
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    assert_int_equal(result->error_count, 2);
    assert_non_null(strstr(result->errors[0], "has another size"));
    assert_non_null(strstr(result->errors[1], "its size of 0 bytes is impossible"));
}

/* More errors than texts are kept. */
static void test_fsck_keeps_a_bounded_number_of_texts(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&home);
        for (uint32_t i = 0; i < 3; i++) {
            char name[8];
            (void)snprintf(name, sizeof name, "m%u", i);
            expect_ok(fixture_register(store, TENANT_DEFAULT, name, i * 1000, 400, 16, NULL, NULL));
        }
    }
    fixture_run_sql(&home, "chunks.db", "DELETE FROM chunks");
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    assert_int_equal(result->error_count, 1200);
    assert_non_null(result->errors[FSCK_ERRORS_MAX - 1]);
}

TEST_GROUP(fsck, cmocka_unit_test(test_fsck_counts_what_a_sound_store_holds),
    cmocka_unit_test(test_fsck_names_the_model_that_misses_a_chunk),
    cmocka_unit_test(test_fsck_finds_tables_of_another_shape),
    cmocka_unit_test(test_fsck_asks_its_caller_about_every_manifest),
    cmocka_unit_test(test_fsck_finds_references_to_nothing),
    cmocka_unit_test(test_fsck_finds_indexes_that_lie),
    cmocka_unit_test(test_fsck_finds_impossible_sizes),
    cmocka_unit_test(test_fsck_keeps_a_bounded_number_of_texts))
