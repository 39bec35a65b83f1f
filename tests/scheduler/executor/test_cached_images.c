#include "scheduler/executor/cached_images.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test_support.h"

enum { SIZE = WEIGHT_PIECE_SIZE + 10 };

static Error *read_bytes(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    (void)offset;
    memset(buffer, *(const uint8_t *)context, size);
    *out_data = buffer;
    return NULL;
}

/* The cache's own tests say what becomes of files; here, that each call reaches it. */
static void test_cached_images_are_the_caches(void **state) {
    (void)state;
    char folder[64], home[128];
    test_folder_create(folder);
    (void)snprintf(home, sizeof home, "%s/home", folder);
    OWN(WeightCache, cache) = NULL;
    assert_ok(weight_cache_open(home, 1 << 24, &cache));
    WeightImages images = cached_images(cache);
    WeightImageKey key = {.executable = {{1}}, .layout = {{2}}, .size = SIZE};
    uint8_t byte = 9;
    bool kept;
    OWN(WeightImage, image) = NULL;
    assert_ok(weight_image_find(&images, &key, &image));
    assert_null(image);
    assert_ok(images.keep(images.context, &key, read_bytes, &byte, NULL, &kept));
    assert_true(kept);
    assert_ok(weight_image_find(&images, &key, &image));
    assert_non_null(image);
    assert_int_equal(image->data[SIZE - 1], 9);
    assert_ok(weight_image_check(image, 0, SIZE));
    assert_false(weight_image_is_damaged(image));
    images.discard(images.context, &key);
    weight_image_release(TAKE(image));
    assert_ok(weight_image_find(&images, &key, &image));
    assert_null(image);
    WeightCacheCounts counts = weight_cache_count(cache);
    assert_int_equal(counts.hits, 1);
    assert_int_equal(counts.misses, 2);
    assert_int_equal(counts.damaged, 1);
}

int test_cached_images(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cached_images_are_the_caches),
    };
    return cmocka_run_group_tests_name("cached_images", tests, NULL, NULL);
}
