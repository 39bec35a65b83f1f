#include "store/weights/weight_cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/weights/weight_folder.h"
#include "tests/store/store_fixtures.h"

enum { SIZE = WEIGHT_PIECE_SIZE + 100, COUNT = 4 };
#define ROOM ((uint64_t)3 * (SIZE + 4096)) /* for three of them */

static Error *read_bytes(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    (void)offset;
    memset(buffer, *(const uint8_t *)context, size);
    *out_data = buffer;
    return NULL;
}

static WeightKey make_key(uint8_t which) {
    return (WeightKey){.executable = {{which}}, .layout = {{9}}, .size = SIZE};
}

static bool keep(WeightCache *cache, uint8_t which) {
    WeightKey key = make_key(which);
    bool kept;
    expect_ok(weight_cache_keep(cache, &key, (WeightReader){read_bytes, &which}, NULL, &kept));
    return kept;
}

/* Whether it is there, right to the last byte. */
static bool has(WeightCache *cache, uint8_t which) {
    OWN(CachedWeights, weights) = NULL;
    WeightKey key = make_key(which);
    weight_cache_find(cache, &key, &weights);
    if (!weights) return false;
    Error *error = cached_weights_check(weights, 0, SIZE);
    bool right = !error && cached_weights_data(weights)[SIZE - 1] == which;
    error_free(error);
    return right;
}

/* Of its file, in a static buffer. */
static const char *path_of(const TestHome *home, uint8_t which) {
    char name[WEIGHT_NAME_SIZE], path[WEIGHT_NAME_SIZE + 32];
    WeightKey key = make_key(which);
    weight_file_name(&key, name);
    (void)snprintf(path, sizeof path, "%s/%s", WEIGHT_FOLDER, name);
    return fixture_path(home, path);
}

static bool is_file(const TestHome *home, uint8_t which) {
    return access(path_of(home, which), F_OK) == 0;
}

static WeightCache *open_cache(const TestHome *home, uint64_t bytes_max) {
    WeightCache *cache;
    expect_ok(weight_cache_open(home->path, bytes_max, &cache));
    return cache;
}

static void test_weight_cache_keeps_across_openings(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    struct stat status;
    OWN(WeightCache, cache) = open_cache(&home, 0);
    assert_false(has(cache, 1));
    assert_true(keep(cache, 1));
    assert_true(keep(cache, 1)); /* once is enough */
    assert_true(has(cache, 1));
    assert_int_equal(stat(path_of(&home, 1), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(fixture_path(&home, WEIGHT_FOLDER), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    WeightCacheCounts counts = weight_cache_count(cache);
    assert_int_equal(counts.hits, 1);
    assert_int_equal(counts.misses, 1);
    assert_int_equal(counts.files, 1);
    WeightKey key = make_key(1);
    assert_int_equal(counts.bytes, weight_file_size(&key));
    assert_true(counts.bytes_max > counts.bytes);
    weight_cache_close(TAKE(cache));
    cache = open_cache(&home, ROOM);
    assert_true(has(cache, 1));
    assert_int_equal(weight_cache_count(cache).bytes, counts.bytes);
}

static void test_weight_cache_lets_the_oldest_go(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(WeightCache, cache) = open_cache(&home, ROOM);
    for (uint8_t i = 1; i <= 3; i++) assert_true(keep(cache, i));
    assert_true(has(cache, 1)); /* 2 is the oldest now */
    assert_true(keep(cache, 4));
    assert_false(is_file(&home, 2));
    assert_true(has(cache, 1) && has(cache, 3) && has(cache, 4));
    assert_int_equal(weight_cache_count(cache).evictions, 1);
    assert_true(weight_cache_count(cache).bytes <= ROOM);
    weight_cache_close(TAKE(cache)); /* the next process knows the order, too */
    cache = open_cache(&home, ROOM / 3);
    assert_true(has(cache, 4));
    assert_false(is_file(&home, 1) || is_file(&home, 3));
}

static void test_weight_cache_spares_what_is_in_use(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(WeightCache, cache) = open_cache(&home, ROOM / 3);
    OWN(CachedWeights, weights) = NULL;
    WeightKey key = make_key(1);
    assert_true(keep(cache, 1));
    weight_cache_find(cache, &key, &weights);
    assert_false(keep(cache, 2));
    CachedWeights *again = cached_weights_retain(weights);
    cached_weights_release(again);
    assert_true(has(cache, 1));
    cached_weights_release(TAKE(weights));
    assert_true(keep(cache, 2));
    assert_false(has(cache, 1));
    weight_cache_close(TAKE(cache));
    cache = open_cache(&home, SIZE); /* less than one takes */
    assert_false(is_file(&home, 2));
    assert_false(keep(cache, 1));
}

static void change(const char *path, off_t at) {
    uint8_t byte;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(pread(descriptor, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(descriptor, &byte, 1, at), 1);
    (void)close(descriptor);
}

/* Whatever became of a file between two processes, it is not believed, and a new one takes its
 * place. */
static void test_weight_cache_removes_what_is_damaged(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    for (int damage = 0; damage < 4; damage++) {
        OWN(WeightCache, cache) = open_cache(&home, ROOM);
        WeightKey key = make_key(1);
        assert_true(keep(cache, 1));
        assert_true(keep(cache, 2));
        weight_cache_close(TAKE(cache));
        off_t size = (off_t)weight_file_size(&key);
        if (damage == 0) assert_int_equal(truncate(path_of(&home, 1), size - 1), 0);
        if (damage == 1) assert_int_equal(truncate(path_of(&home, 1), size + 1), 0);
        if (damage == 2) change(path_of(&home, 1), 20);
        if (damage == 3) { /* another's bytes under its name */
            char other[FIXTURE_PATH_SIZE];
            (void)snprintf(other, sizeof other, "%s", path_of(&home, 2));
            assert_int_equal(rename(other, path_of(&home, 1)), 0);
        }
        cache = open_cache(&home, ROOM);
        assert_false(has(cache, 1));
        assert_false(is_file(&home, 1));
        assert_int_equal(weight_cache_count(cache).damaged, 1);
        assert_true(keep(cache, 1));
        assert_true(has(cache, 1));
    }
}

static void test_weight_cache_checks_pieces_and_discards(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(WeightCache, cache) = open_cache(&home, ROOM);
    OWN(CachedWeights, weights) = NULL;
    WeightKey key = make_key(1);
    assert_true(keep(cache, 1));
    change(path_of(&home, 1), (off_t)weight_file_size(&key) - 1);
    weight_cache_find(cache, &key, &weights); /* its header is right */
    assert_non_null(weights);
    expect_ok(cached_weights_check(weights, 0, WEIGHT_PIECE_SIZE));
    expect_ok(cached_weights_check(weights, SIZE, 0));
    expect_error(cached_weights_check(weights, WEIGHT_PIECE_SIZE - 1, 2), ERROR_CORRUPT, "piece 1");
    weight_cache_discard(cache, &key);
    weight_cache_discard(cache, &key);
    assert_false(is_file(&home, 1));
    assert_int_equal(cached_weights_data(weights)[0], 1); /* as long as it is held */
}

/* A file that is replaced, truncated or removed while it is mapped. */
static void test_weight_cache_notices_changes_under_its_mapping(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(WeightCache, cache) = open_cache(&home, ROOM);
    OWN(CachedWeights, weights) = NULL;
    WeightKey key = make_key(1);
    assert_true(keep(cache, 1));
    assert_true(has(cache, 1));
    change(path_of(&home, 1), (off_t)weight_file_size(&key) - 1);
    assert_false(has(cache, 1)); /* mapped anew, so checked anew */
    weight_cache_discard(cache, &key);
    assert_true(keep(cache, 1));
    weight_cache_find(cache, &key, &weights);
    assert_int_equal(truncate(path_of(&home, 1), 4096), 0);
    assert_false(cached_weights_is_damaged(weights)); /* nobody has looked */
    assert_int_equal(cached_weights_data(weights)[SIZE - 1], 0);
    assert_true(cached_weights_is_damaged(weights));
    assert_false(has(cache, 1));
    assert_false(is_file(&home, 1));
    assert_true(keep(cache, 1) && keep(cache, 2));
    assert_int_equal(unlink(path_of(&home, 2)), 0);
    weight_cache_forget_removed(cache);
    assert_int_equal(weight_cache_count(cache).files, 1);
    assert_int_equal(weight_cache_count(cache).bytes, weight_file_size(&key));
    assert_true(has(cache, 1));
}

static void test_weight_cache_clears_what_is_not_its_own(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    weight_cache_close(open_cache(&home, ROOM));
    static const char *const names[] = {"cache/weights/new-7", "cache/weights/notes.txt"};
    for (int i = 0; i < 2; i++) {
        int descriptor = open(fixture_path(&home, names[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(descriptor >= 0);
        (void)close(descriptor);
    }
    OWN(WeightCache, cache) = open_cache(&home, ROOM);
    for (int i = 0; i < 2; i++)
        assert_int_not_equal(access(fixture_path(&home, names[i]), F_OK), 0);
    assert_int_equal(weight_cache_count(cache).files, 0);
}

static void *use_often(void *context) {
    for (int i = 0; i < 40; i++) {
        uint8_t which = (uint8_t)(1 + i % COUNT);
        if (!has(context, which)) (void)keep(context, which);
    }
    return NULL;
}

static void test_weight_cache_serves_many_threads(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(WeightCache, cache) = open_cache(&home, ROOM);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_often, cache), 0);
    for (int i = 0; i < 3; i++) (void)pthread_join(threads[i], NULL);
    assert_int_equal(weight_cache_count(cache).damaged, 0);
    assert_true(weight_cache_count(cache).bytes <= ROOM);
}

TEST_GROUP(weight_cache, cmocka_unit_test(test_weight_cache_keeps_across_openings),
    cmocka_unit_test(test_weight_cache_lets_the_oldest_go),
    cmocka_unit_test(test_weight_cache_spares_what_is_in_use),
    cmocka_unit_test(test_weight_cache_removes_what_is_damaged),
    cmocka_unit_test(test_weight_cache_checks_pieces_and_discards),
    cmocka_unit_test(test_weight_cache_notices_changes_under_its_mapping),
    cmocka_unit_test(test_weight_cache_clears_what_is_not_its_own),
    cmocka_unit_test(test_weight_cache_serves_many_threads))
