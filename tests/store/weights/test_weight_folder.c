#include "store/weights/weight_folder.h"

#include <string.h>
#include <unistd.h>

#include "store/weights/weight_cache.h"
#include "tests/store/store_fixtures.h"

enum { SIZE = 5000 };

static Error *read_bytes(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    (void)context, (void)offset;
    memset(buffer, 7, size);
    *out_data = buffer;
    return NULL;
}

static void keep(WeightCache *cache, const Digest *executable, uint8_t layout) {
    WeightKey key = {.executable = *executable, .layout = {{layout}}, .size = SIZE};
    bool kept;
    expect_ok(weight_cache_keep(cache, &key, (WeightReader){read_bytes, NULL}, NULL, &kept));
    assert_true(kept);
}

static Error *count_one(void *context, const char *name) {
    (void)name;
    ++*(int *)context;
    return NULL;
}

static int count_files(const TestHome *home) {
    int folder, count = 0;
    expect_ok(weight_folder_open(fixture_path(home, WEIGHT_FOLDER), &folder));
    expect_ok(weight_folder_list(folder, count_one, &count));
    (void)close(folder);
    return count;
}

static void test_weight_folder_sweep_follows_the_catalog(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    GcResult result;
    expect_ok(weight_folder_sweep(store)); /* there is none yet */
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 2, 100, NULL, NULL));
    TestExecutable executable;
    fixture_make_executable(1, 2, 100, &executable);
    OWN(WeightCache, cache) = NULL;
    expect_ok(weight_cache_open(home.path, 1 << 20, &cache));
    const Digest unknown = {{42}};
    keep(cache, &executable.content.identity, 1);
    keep(cache, &executable.content.identity, 2);
    keep(cache, &unknown, 1);
    expect_ok(weight_folder_sweep(store));
    assert_int_equal(count_files(&home), 2);
    expect_ok(gc_run(store, &result));
    assert_int_equal(count_files(&home), 2);
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    expect_ok(gc_run(store, &result));
    assert_int_equal(count_files(&home), 0);
    weight_cache_forget_removed(cache);
    assert_int_equal(weight_cache_count(cache).bytes, 0);
}

static void test_weight_folder_check_removes_damage(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    uint64_t files, removed;
    expect_ok(weight_folder_check(store, &files, &removed));
    assert_int_equal(files, 0);
    OWN(WeightCache, cache) = NULL;
    expect_ok(weight_cache_open(home.path, 1 << 20, &cache));
    const Digest executable = {{42}};
    for (uint8_t i = 1; i <= 3; i++) keep(cache, &executable, i);
    WeightKey key = {.executable = executable, .layout = {{2}}};
    char name[WEIGHT_NAME_SIZE], path[WEIGHT_NAME_SIZE + 32];
    weight_file_name(&key, name);
    (void)snprintf(path, sizeof path, "%s/%s", WEIGHT_FOLDER, name);
    assert_int_equal(truncate(fixture_path(&home, path), 4500), 0);
    expect_ok(weight_folder_check(store, &files, &removed));
    assert_int_equal(files, 3);
    assert_int_equal(removed, 1);
    assert_int_equal(count_files(&home), 2);
    OWN(FsckResult, result) = NULL;
    expect_ok(fsck_run(store, NULL, &result));
    assert_int_equal(result->weight_files, 2);
    assert_int_equal(result->weight_files_removed, 0);
    assert_int_equal(result->error_count, 0);
    expect_error(weight_folder_open(fixture_path(&home, "no"), &(int){0}), ERROR_NOT_FOUND, "no");
}

TEST_GROUP(weight_folder, cmocka_unit_test(test_weight_folder_sweep_follows_the_catalog),
    cmocka_unit_test(test_weight_folder_check_removes_damage))
