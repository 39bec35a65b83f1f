#include <string.h>

#include "tests/store/store_fixtures.h"

enum { BYTES = 900 };

static void test_stored_executable_gives_back_what_was_registered(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TestExecutable made;
    fixture_make_executable(1, 300, BYTES, &made);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 300, BYTES, NULL, NULL));
    OWN(StoredExecutable, executable) = NULL;
    expect_ok(stored_executable_open(store, TENANT_DEFAULT, &made.content.identity, &executable));
    size_t size, count;
    const uint8_t *manifest = stored_executable_manifest(executable, &size);
    assert_int_equal(size, made.content.manifest_size);
    assert_memory_equal(manifest, made.manifest, size);
    const ChunkRef *chunks = stored_executable_chunks(executable, &count);
    assert_int_equal(count, 300);
    for (size_t i = 0; i < count; i++) {
        assert_true(digest_equal(&chunks[i].hash, &made.chunks[i].hash));
        assert_int_equal(chunks[i].raw_size, BYTES);
    }
    static uint8_t raw[300 * BYTES], expected[BYTES];
    expect_ok(chunk_read_data(NULL, &(ChunkRun){chunks, count, raw}, 1, CHUNK_VERIFY_XXH3,
        stored_executable_source(executable)));
    fixture_make_raw(1 + 299, BYTES, expected);
    assert_memory_equal(raw + 299 * BYTES, expected, BYTES);
}

static void test_stored_executable_names_what_is_missing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    StoredExecutable *executable = NULL;
    Digest identity = {{0xab, 0xcd}};
    expect_error(stored_executable_open(store, TENANT_DEFAULT, &identity, &executable),
        ERROR_NOT_FOUND, "executable abcd00");
    assert_null(executable);
}

/* Whoever loads a model is not disturbed by its removal and by gc; what is left goes at the next
 * gc. */
static void test_stored_executable_outlives_its_removal_while_open(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TestExecutable made;
    fixture_make_executable(1, 4, BYTES, &made);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 4, BYTES, NULL, NULL));
    OWN(StoredExecutable, executable) = NULL;
    expect_ok(stored_executable_open(store, TENANT_DEFAULT, &made.content.identity, &executable));
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    GcResult result;
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.executables, 0);
    assert_int_equal(result.chunks, 0);
    static uint8_t raw[4 * BYTES];
    expect_ok(chunk_read_data(NULL, &(ChunkRun){made.chunks, 4, raw}, 1, CHUNK_VERIFY_SHA256,
        stored_executable_source(executable)));
    stored_executable_close(TAKE(executable));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.executables, 1);
    assert_int_equal(result.chunks, 4);
}

static void expect_damage(const TestHome *home, const char *sql, const char *text) {
    TestHome OWN_HOME(copy) = fixture_home_make();
    fixture_home_copy(home, &copy);
    fixture_run_sql(&copy, "catalog.db", sql);
    OWN(Store, store) = fixture_open(&copy);
    ModelVersion OWN_VERSION(version) = {0};
    StoredExecutable *executable = NULL;
    expect_ok(models_find(store, TENANT_DEFAULT, "a", &version));
    expect_error(stored_executable_open(store, TENANT_DEFAULT, &version.executable, &executable),
        ERROR_CORRUPT, text);
    OWN(FsckResult, result) = NULL;
    expect_ok(fsck_run(store, NULL, &result));
    assert_true(result->error_count > 0);
    assert_non_null(strstr(result->errors[0], text));
}

static void test_stored_executable_refuses_a_changed_catalog(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 4, BYTES, NULL, NULL));
    store_close(TAKE(store));
    expect_damage(
        &home, "UPDATE executables SET manifest = x'00'", "manifest's bytes have changed");
    expect_damage(&home, "DELETE FROM executable_chunks WHERE position = 2",
        "3 references to chunks where 4 should be");
    expect_damage(&home,
        "PRAGMA ignore_check_constraints = ON; UPDATE executable_chunks SET raw_size = 1 << 40",
        "a chunk of 1099511627776 bytes");
    expect_damage(&home,
        "PRAGMA ignore_check_constraints = ON; UPDATE executable_chunks SET hash = x'1234' WHERE "
        "position = 0",
        "holds no digest");
}

TEST_GROUP(stored_executable,
    cmocka_unit_test(test_stored_executable_gives_back_what_was_registered),
    cmocka_unit_test(test_stored_executable_names_what_is_missing),
    cmocka_unit_test(test_stored_executable_outlives_its_removal_while_open),
    cmocka_unit_test(test_stored_executable_refuses_a_changed_catalog))
