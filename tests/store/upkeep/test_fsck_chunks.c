#include <string.h>

#include "tests/store/store_fixtures.h"

enum { BYTES = 900, CHUNKS = 150 };

static void fill(const TestHome *home) {
    OWN(Store, store) = fixture_open(home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, CHUNKS, BYTES, NULL, NULL));
}

/* The last byte of the chunk that was stored as the id-th. */
static void flip_byte(const TestHome *home, int id) {
    char sql[200];
    (void)snprintf(sql, sizeof sql,
        "UPDATE chunks SET stored = CAST(substr(stored, 1, length(stored) - 1) || "
        "CASE WHEN substr(stored, -1) = x'55' THEN x'56' ELSE x'55' END AS BLOB) WHERE id = %d",
        id);
    fixture_run_sql(home, "chunks.db", sql);
}

static FsckResult *check(Store *store, const FsckOptions *options) {
    FsckResult *result = NULL;
    expect_ok(fsck_run(store, options, &result));
    return result;
}

static void name_chunk(uint32_t seed, char out[DIGEST_TEXT_SIZE]) {
    ChunkRef ref;
    fixture_make_chunk(seed, BYTES, &ref, NULL);
    digest_print(&ref.hash, out);
}

static void test_fsck_finds_every_chunk_with_a_changed_byte(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    flip_byte(&home, 1);
    flip_byte(&home, CHUNKS);
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    assert_int_equal(result->error_count, 2);
    assert_int_equal(result->chunks, CHUNKS);
    char names[2][DIGEST_TEXT_SIZE];
    name_chunk(1, names[0]);
    name_chunk(CHUNKS, names[1]);
    for (int i = 0; i < 2; i++)
        assert_true(strstr(result->errors[0], names[i]) || strstr(result->errors[1], names[i]));
}

/* The stored bytes are sound, but another chunk's: only the hash of the raw bytes tells. */
static void test_fsck_finds_chunks_under_the_wrong_name(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    fixture_run_sql(&home, "chunks.db",
        "UPDATE chunks SET stored = (SELECT stored FROM chunks WHERE id = 3) WHERE id = 4");
    OWN(Store, store) = fixture_open(&home);
    OWN(FsckResult, result) = check(store, NULL);
    char name[DIGEST_TEXT_SIZE];
    name_chunk(4, name);
    assert_int_equal(result->error_count, 1);
    assert_non_null(strstr(result->errors[0], name));
}

static void test_fsck_says_the_same_with_a_pool(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    for (int id = 2; id <= CHUNKS; id += 10) flip_byte(&home, id);
    OWN(Store, store) = fixture_open(&home);
    OWN(WorkerPool, pool) = NULL;
    expect_ok(worker_pool_create("fsck", 3, &pool));
    FsckOptions options = {.pool = pool};
    OWN(FsckResult, alone) = check(store, NULL);
    OWN(FsckResult, together) = check(store, &options);
    assert_int_equal(alone->error_count, 15);
    assert_int_equal(together->error_count, 15);
    for (int i = 0; i < 15; i++) assert_string_equal(alone->errors[i], together->errors[i]);
}

static void test_fsck_counts_orphans_and_does_not_blame_them(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "b", CHUNKS - 5, 10, BYTES, NULL, NULL));
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    OWN(FsckResult, result) = check(store, NULL);
    assert_int_equal(result->error_count, 0);
    assert_int_equal(result->chunks, CHUNKS + 4);
    assert_int_equal(result->orphan_chunks, CHUNKS - 6);
    assert_true(result->orphan_bytes > 0 && result->orphan_bytes < result->bytes);
}

static void remember_progress(void *context, uint64_t done, uint64_t total) {
    uint64_t *last = context;
    assert_true(done >= last[0] && done <= total);
    last[0] = done;
    last[1] = total;
}

static void test_fsck_tells_its_progress(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    OWN(Store, store) = fixture_open(&home);
    uint64_t last[2] = {0, 0};
    FsckOptions options = {.progress = remember_progress, .progress_context = last};
    OWN(FsckResult, result) = check(store, &options);
    assert_int_equal(result->chunks, CHUNKS);
    assert_int_equal(last[0], CHUNKS);
    assert_int_equal(last[1], CHUNKS);
}

/* Another copy that has every chunk, but lies about one. */
typedef struct OtherCopy {
    uint32_t lies_about; /* a seed; 0: about none */
} OtherCopy;

static Error *get_from_copy(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    const OtherCopy *copy = self;
    for (uint32_t seed = 1; seed <= CHUNKS; seed++) {
        ChunkRef made;
        fixture_make_chunk(seed, BYTES, &made, inout_stored);
        if (!digest_equal(&made.hash, &ref->hash)) continue;
        if (seed == copy->lies_about) fixture_make_chunk(seed + 1, BYTES, &made, inout_stored);
        return NULL;
    }
    FAIL(NOT_FOUND, "no such chunk");
}

static void test_fsck_repairs_from_another_copy(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    TextBuilder OWN_TEXT(before) = {0};
    TextBuilder OWN_TEXT(after) = {0};
    fill(&home);
    OWN(Store, store) = fixture_open(&home);
    fixture_print_state(store, &before);
    store_close(TAKE(store));
    flip_byte(&home, 7);
    fixture_run_sql(&home, "chunks.db", "DELETE FROM chunks WHERE id = 9");
    fixture_run_sql(&home, "chunks.db", "UPDATE chunks SET raw_size = 5 WHERE id = 11");
    store = fixture_open(&home);
    OtherCopy copy = {0};
    ChunkSource source = {get_from_copy, &copy};
    FsckOptions options = {.repair_from = &source};
    OWN(FsckResult, result) = check(store, &options);
    assert_int_equal(result->error_count, 0);
    assert_int_equal(result->repaired, 3);
    assert_int_equal(result->chunks, CHUNKS);
    fixture_expect_clean(store);
    fixture_print_state(store, &after);
    assert_string_equal(text_builder_get(&before), text_builder_get(&after));
}

static void test_fsck_believes_the_other_copy_nothing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    fill(&home);
    flip_byte(&home, 7);
    fixture_run_sql(&home, "chunks.db", "DELETE FROM chunks WHERE id = 9");
    OWN(Store, store) = fixture_open(&home);
    OtherCopy copy = {.lies_about = 7};
    ChunkSource source = {get_from_copy, &copy};
    FsckOptions options = {.repair_from = &source};
    OWN(FsckResult, result) = check(store, &options);
    assert_int_equal(result->repaired, 1);
    assert_int_equal(result->error_count, 1);
    char name[DIGEST_TEXT_SIZE];
    name_chunk(7, name);
    assert_non_null(strstr(result->errors[0], name));
}

TEST_GROUP(fsck_chunks, cmocka_unit_test(test_fsck_finds_every_chunk_with_a_changed_byte),
    cmocka_unit_test(test_fsck_finds_chunks_under_the_wrong_name),
    cmocka_unit_test(test_fsck_says_the_same_with_a_pool),
    cmocka_unit_test(test_fsck_counts_orphans_and_does_not_blame_them),
    cmocka_unit_test(test_fsck_tells_its_progress),
    cmocka_unit_test(test_fsck_repairs_from_another_copy),
    cmocka_unit_test(test_fsck_believes_the_other_copy_nothing))
