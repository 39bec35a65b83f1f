#include "vm/objects/small_block.h"

#include <pthread.h>
#include <string.h>

#include "base/sanitizers.h"
#include "tests/support/test_support.h"

enum { BLOCKS = 2 * SMALL_BLOCK_KEPT_MAX };

static void take_and_free(size_t size) {
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_ok(small_block_take(size, &blocks[i]));
        memset(blocks[i], (int)i, size);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(((const uint8_t *)blocks[i])[size - 1], i);
        small_block_free(blocks[i], size);
    }
}

static void test_small_block_keeps_a_limited_number(void **state) {
    (void)state;
    const bool keeps = !BUILT_WITH_ADDRESS_SANITIZER && !BUILT_WITH_THREAD_SANITIZER;
    void *again, *block;
    static const size_t sizes[] = {1, 16, 17, 127, SMALL_BLOCK_BYTES_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        take_and_free(sizes[i]);
        assert_int_equal(small_block_kept(sizes[i]), keeps ? SMALL_BLOCK_KEPT_MAX : 0);
    }
    take_and_free(SMALL_BLOCK_BYTES_MAX + 1);
    assert_int_equal(small_block_kept(SMALL_BLOCK_BYTES_MAX + 1), 0);
    assert_ok(small_block_take(20, &block));
    small_block_free(block, 20);
    assert_ok(small_block_take(30, &again)); /* of the same step */
    if (keeps) assert_ptr_equal(block, again);
    small_block_free(again, 30);
    small_block_free(NULL, 30);
}

/* Counts of the thread that frees; a leak would be seen by the sanitizer of a build that keeps. */
static void *free_elsewhere(void *block) {
    const size_t before = small_block_kept(64);
    small_block_free(block, 64);
    return (void *)(uintptr_t)(before == 0 && small_block_kept(64) <= 1);
}

static void test_small_block_is_freed_by_any_thread(void **state) {
    (void)state;
    void *block, *right;
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        assert_ok(small_block_take(64, &block));
        assert_int_equal(pthread_create(&thread, NULL, free_elsewhere, block), 0);
        assert_int_equal(pthread_join(thread, &right), 0);
        assert_non_null(right);
    }
}

int test_small_block(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_block_keeps_a_limited_number),
        cmocka_unit_test(test_small_block_is_freed_by_any_thread),
    };
    return cmocka_run_group_tests_name("small_block", tests, NULL, NULL);
}
