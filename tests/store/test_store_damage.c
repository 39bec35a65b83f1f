/* Bytes of the store's files changed at random: whatever is asked of such a store fails with an
 * error or works, and never crashes. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/store/store_fixtures.h"

enum { ROUNDS = 120, FLIPS_MAX = 8 };

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void flip_bytes(const TestHome *home, const char *name, uint64_t *random) {
    uint8_t *data;
    size_t size;
    expect_ok(file_read(fixture_path(home, name), 1 << 30, &data, &size));
    uint64_t flips = 1 + next_random(random) % FLIPS_MAX;
    for (uint64_t i = 0; i < flips; i++) {
        /* Half of them in the page headers, where they hurt. */
        size_t at = (size_t)next_random(random) % size;
        if (next_random(random) & 1) at = at / 4096 * 4096 + at % 128;
        data[at < size ? at : size - 1] ^= (uint8_t)(1 + next_random(random) % 255);
    }
    expect_ok(file_write_atomic(fixture_path(home, name), data, size));
    memory_unmap(data, size);
}

static void load(Store *store, const ModelVersion *version) {
    OWN(StoredExecutable, executable) = NULL;
    Error *error = stored_executable_open(store, TENANT_DEFAULT, &version->executable, &executable);
    if (!error) {
        size_t count;
        const ChunkRef *chunks = stored_executable_chunks(executable, &count);
        uint64_t size = 0;
        for (size_t i = 0; i < count; i++) size += chunks[i].raw_size;
        void *raw;
        expect_ok(memory_alloc(1, (size_t)size + 1, &raw));
        error = chunk_read_data(NULL, &(ChunkRun){chunks, count, raw}, 1, CHUNK_VERIFY_SHA256,
            stored_executable_source(executable));
        memory_free(raw);
    }
    error_free(error);
}

static void ask_for_everything(Store *store) {
    OWN(ModelList, list) = NULL;
    OWN(FsckResult, result) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    GcResult collected;
    Error *error = models_list(store, TENANT_DEFAULT, &list);
    error_free(error);
    for (size_t i = 0; list && i < list->count; i++) load(store, &list->items[i]);
    error_free(models_find(store, TENANT_DEFAULT, "a@prod", &version));
    error = fsck_run(store, NULL, &result); /* an error: SQLite does not open the file at all */
    if (error) assert_int_equal(error_code(error), ERROR_CORRUPT);
    error_free(error);
    error_free(fixture_register(store, TENANT_DEFAULT, "d", 3, 9, 5000, "prod", NULL));
    error_free(models_remove(store, TENANT_DEFAULT, "a", NULL));
    error_free(gc_run(store, &collected));
}

static void damage(const char *name) {
    TestHome OWN_HOME(whole) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&whole);
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 8, 5000, "prod", NULL));
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 2, 8, 5000, "test", NULL));
        expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 20, 2, 100000, NULL, NULL));
    }
    uint64_t random = 20;
    for (int round = 0; round < ROUNDS; round++) {
        fixture_home_copy(&whole, &home);
        flip_bytes(&home, name, &random);
        OWN(Store, store) = NULL;
        Error *error = store_open(home.path, STORE_CREATE, &store);
        if (error) assert_true(error_message(error)[0] != 0);
        error_free(error);
        if (store) ask_for_everything(store);
    }
}

static void test_store_with_a_damaged_catalog_never_crashes(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    damage("catalog.db");
}

static void test_store_with_damaged_chunks_never_crashes(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    damage("chunks.db");
}

static void test_store_with_a_short_file_never_crashes(void **state) {
    (void)state;
    static const char *const names[] = {"catalog.db", "chunks.db"};
    TestHome OWN_HOME(whole) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&whole);
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 8, 5000, "prod", NULL));
    }
    for (int i = 0; i < 2; i++)
        for (long size = 0; size < 300000; size = size * 2 + 50) {
            fixture_home_copy(&whole, &home);
            assert_int_equal(truncate(fixture_path(&home, names[i]), size), 0);
            OWN(Store, store) = NULL;
            error_free(store_open(home.path, STORE_CREATE, &store));
            if (store) ask_for_everything(store);
        }
}

TEST_GROUP(store_damage, cmocka_unit_test(test_store_with_a_damaged_catalog_never_crashes),
    cmocka_unit_test(test_store_with_damaged_chunks_never_crashes),
    cmocka_unit_test(test_store_with_a_short_file_never_crashes))
