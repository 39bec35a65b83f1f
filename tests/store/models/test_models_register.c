#include <string.h>

#include "base/clock.h"
#include "store/database/row_costs.h"
#include "tests/store/store_fixtures.h"

enum { BYTES = 2000 };

static Error *register_with(Store *store, uint32_t seed, uint32_t chunks, const char *name,
    const char *const *aliases, size_t alias_count, ModelVersion *out, bool *out_created) {
    TestExecutable executable;
    fixture_make_executable(seed, chunks, BYTES, &executable);
    OWN(ChunkUpload, upload) = NULL;
    TRY(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    TRY(fixture_upload(upload, seed, chunks, BYTES));
    return models_register(
        upload, name, &executable.content, aliases, alias_count, out, out_created);
}

static void test_models_register_shows_what_it_stored(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TestExecutable executable;
    fixture_make_executable(5, 3, BYTES, &executable);
    static const char *const aliases[] = {"prod", "best"};
    ModelVersion OWN_VERSION(version) = {0};
    bool created;
    Clock clock = clock_real();
    double before = clock.calendar_s(clock.self);
    expect_ok(register_with(store, 5, 3, "net", aliases, 2, &version, &created));
    assert_true(created);
    assert_string_equal(version.model, "net");
    assert_int_equal(version.version, 1);
    assert_true(digest_equal(&version.executable, &executable.content.identity));
    assert_int_equal(version.alias_count, 2);
    assert_string_equal(version.aliases[0], "best");
    size_t manifest = executable.content.manifest_size;
    assert_int_equal(version.bytes_raw, manifest + 3 * BYTES);
    assert_int_equal(version.bytes_stored,
        (int64_t)manifest + ROW_COST_EXECUTABLE + 3 * ROW_COST_CHUNK +
            fixture_read_sql(&home, "chunks.db", "SELECT sum(length(stored)) FROM chunks"));
    assert_true(version.created >= before && version.created <= clock.calendar_s(clock.self));
}

static void test_models_register_takes_the_same_content_for_the_same_version(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    static const char *const aliases[] = {"prod"};
    for (uint32_t round = 0; round < 3; round++) {
        ModelVersion OWN_VERSION(version) = {0};
        bool created;
        expect_ok(register_with(store, 1, 2, "net", aliases, round == 2, &version, &created));
        assert_int_equal(version.version, 1);
        assert_int_equal(created, round == 0);
        assert_int_equal(version.alias_count, round == 2); /* an alias can be given later */
    }
    ModelVersion OWN_VERSION(version) = {0};
    bool created;
    expect_ok(register_with(store, 2, 2, "net", aliases, 1, &version, &created));
    assert_true(created);
    assert_int_equal(version.version, 2);
    ModelVersion OWN_VERSION(first) = {0};
    expect_ok(models_find(store, TENANT_DEFAULT, "net@1", &first));
    assert_int_equal(first.alias_count, 0); /* it moved */
    fixture_expect_clean(store);
}

/* Seeds 1 and 2 share all chunks but one. */
static void test_models_register_stores_shared_chunks_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "net", 1, 10, BYTES, NULL, NULL));
    expect_ok(fixture_register(store, TENANT_DEFAULT, "net", 2, 10, BYTES, NULL, NULL));
    assert_int_equal(fixture_read_sql(&home, "chunks.db", "SELECT count(*) FROM chunks"), 11);
}

static void test_models_register_counts_a_repeated_chunk_once(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TestExecutable executable;
    fixture_make_executable(1, 3, BYTES, &executable);
    executable.chunks[1] = executable.chunks[2] = executable.chunks[0];
    OWN(ChunkUpload, upload) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 1, BYTES));
    expect_ok(models_register(upload, "net", &executable.content, NULL, 0, &version, NULL));
    size_t manifest = executable.content.manifest_size;
    assert_int_equal(version.bytes_raw, manifest + 3 * BYTES);
    assert_int_equal(version.bytes_stored,
        (int64_t)manifest + ROW_COST_EXECUTABLE + 3 * ROW_COST_CHUNK +
            fixture_read_sql(&home, "chunks.db", "SELECT sum(length(stored)) FROM chunks"));
    OWN(StoredExecutable, stored) = NULL;
    size_t count;
    expect_ok(stored_executable_open(store, TENANT_DEFAULT, &version.executable, &stored));
    (void)stored_executable_chunks(stored, &count);
    assert_int_equal(count, 3);
}

static void test_models_register_takes_an_executable_without_chunks(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "net", 1, 0, BYTES, NULL, NULL));
    fixture_expect_clean(store);
}

static void expect_refused(Store *store, const char *name, const ExecutableContent *content,
    const char *const *aliases, size_t alias_count, ErrorCode code, const char *text) {
    OWN(ChunkUpload, upload) = NULL;
    ModelVersion version = {.version = 77};
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_error(
        models_register(upload, name, content, aliases, alias_count, &version, NULL), code, text);
    assert_int_equal(version.version, 77);
    OWN(ModelList, list) = NULL;
    expect_ok(models_list(store, TENANT_DEFAULT, &list));
    assert_int_equal(list->count, 0);
}

static void test_models_register_refuses_and_stores_nothing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TestExecutable executable, empty;
    fixture_make_executable(1, 2, BYTES, &executable);
    fixture_make_executable(1, 0, BYTES, &empty);
    const char *number = "3", *aliases[MODEL_ALIASES_MAX + 1] = {0};
    for (size_t i = 0; i <= MODEL_ALIASES_MAX; i++) aliases[i] = "a";
    expect_refused(store, "net", &executable.content, NULL, 0, ERROR_CORRUPT,
        "neither in the store nor among what came with its executable");
    expect_refused(
        store, "a/b", &empty.content, NULL, 0, ERROR_INVALID, "model \"a/b\" is no name");
    expect_refused(store, "net", &empty.content, &number, 1, ERROR_INVALID, "alias 3");
    expect_refused(
        store, "net", &empty.content, aliases, MODEL_ALIASES_MAX + 1, ERROR_INVALID, "at most 64");
    empty.content.manifest_size = 0;
    expect_refused(store, "net", &empty.content, NULL, 0, ERROR_INVALID, "a manifest of 0 bytes");
    empty.content.manifest_size = EXECUTABLE_MANIFEST_SIZE_MAX + 1;
    expect_refused(store, "net", &empty.content, NULL, 0, ERROR_INVALID, "a manifest of 67108865");
    fixture_expect_clean(store);
}

static void test_models_register_refuses_sizes_beyond_63_bits(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TestExecutable executable;
    fixture_make_executable(1, 0, BYTES, &executable);
    executable.content.manifest_raw_size = (uint64_t)1 << 63;
    expect_refused(store, "net", &executable.content, NULL, 0, ERROR_INVALID, "beyond 2^63 bytes");
}

TEST_GROUP(models_register, cmocka_unit_test(test_models_register_shows_what_it_stored),
    cmocka_unit_test(test_models_register_takes_the_same_content_for_the_same_version),
    cmocka_unit_test(test_models_register_stores_shared_chunks_once),
    cmocka_unit_test(test_models_register_counts_a_repeated_chunk_once),
    cmocka_unit_test(test_models_register_takes_an_executable_without_chunks),
    cmocka_unit_test(test_models_register_refuses_and_stores_nothing),
    cmocka_unit_test(test_models_register_refuses_sizes_beyond_63_bits))
