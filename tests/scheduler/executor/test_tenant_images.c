#include "scheduler/executor/tenant_images.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/executor/cached_images.h"
#include "tests/support/test_support.h"

enum { SIZE = 100 };

static Error *read_bytes(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    (void)offset;
    memset(buffer, *(const uint8_t *)context, size);
    *out_data = buffer;
    return NULL;
}

static void keep(const WeightImages *images, const WeightImageKey *key, uint8_t byte) {
    bool kept;
    assert_ok(images->keep(images->context, key, read_bytes, &byte, NULL, &kept));
    assert_true(kept);
}

/* byte: what is in it; -1: there is none. */
static void expect(const WeightImages *images, const WeightImageKey *key, int byte) {
    OWN(WeightImage, image) = NULL;
    assert_ok(weight_image_find(images, key, &image));
    assert_int_equal(image ? image->data[SIZE - 1] : -1, byte);
    if (image) assert_ok(weight_image_check(image, 0, SIZE));
}

static void test_tenant_images_are_one_tenants(void **state) {
    (void)state;
    char folder[64], home[128];
    const WeightImageKey key = {.executable = {{1}}, .layout = {{2}}, .size = SIZE};
    TenantImages first, second;
    test_folder_create(folder);
    (void)snprintf(home, sizeof home, "%s/home", folder);
    OWN(WeightCache, cache) = NULL;
    assert_ok(weight_cache_open(home, 1 << 24, &cache));
    const WeightImages shared = cached_images(cache);
    tenant_images_init(&first, &shared, 1);
    tenant_images_init(&second, &shared, 256);
    keep(&shared, &key, 7);
    expect(&first.images, &key, -1);
    keep(&first.images, &key, 8);
    expect(&second.images, &key, -1);
    keep(&second.images, &key, 9);
    expect(&shared, &key, 7);
    expect(&first.images, &key, 8);
    expect(&second.images, &key, 9);
    second.images.discard(second.images.context, &key);
    expect(&second.images, &key, -1);
    expect(&first.images, &key, 8);
    assert_int_equal(weight_cache_count(cache).files, 2);
}

int test_tenant_images(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tenant_images_are_one_tenants),
    };
    return cmocka_run_group_tests_name("tenant_images", tests, NULL, NULL);
}
