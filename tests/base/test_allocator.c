#include "base/allocator.h"

#include "tests/support/test_support.h"

/* In whole pages, and more than this test itself needs. */
static void test_memory_machine_bytes_is_told(void **state) {
    (void)state;
    assert_true(memory_machine_bytes() > (uint64_t)64 << 20);
    assert_int_equal(memory_machine_bytes() % 4096, 0);
}

static void test_memory_alloc_clears_and_checks_products(void **state) {
    (void)state;
    void *block = NULL;
    assert_ok(memory_alloc(3, 5, &block));
    for (int i = 0; i < 15; i++) assert_int_equal(((char *)block)[i], 0);
    assert_ok(memory_resize(&block, 100, 10));
    assert_fails(OUT_OF_MEMORY, memory_resize(&block, SIZE_MAX / 2, 3));
    assert_fails(OUT_OF_MEMORY, memory_alloc(SIZE_MAX / 2, 3, &block));
    memory_free(block);
    assert_ok(memory_alloc(0, 0, &block));
    assert_non_null(block);
    memory_free(block);
    char *text = NULL;
    assert_ok(memory_copy_text("hello", &text));
    assert_string_equal(text, "hello");
    memory_free(text);
}

static void test_memory_alloc_lines_shares_no_cache_line(void **state) {
    (void)state;
    enum { LINE = 64, COUNT = 40 };
    uint8_t *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i * 7;
        void *block;
        assert_ok(memory_alloc_lines(i, 7, &block));
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % LINE, 0);
        blocks[i] = block;
        for (size_t at = 0; at < size; at++) assert_int_equal(blocks[i][at], 0);
        memset(block, 0xff, size);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++)
            if (i != k)
                assert_true(
                    blocks[k] < blocks[i] || blocks[k] >= blocks[i] + i * 7 / LINE * LINE + LINE);
    for (size_t i = 0; i < COUNT; i++) memory_free(blocks[i]);
    void *none = NULL;
    assert_fails(OUT_OF_MEMORY, memory_alloc_lines(SIZE_MAX / 2, 3, &none));
    assert_fails(OUT_OF_MEMORY, memory_alloc_lines(1, SIZE_MAX, &none));
    assert_null(none);
}

static void test_memory_grow_doubles(void **state) {
    (void)state;
    void *array = NULL;
    size_t capacity = 0, changes = 0;
    for (size_t count = 0; count < 1000; count++) {
        size_t before = capacity;
        assert_ok(memory_grow(&array, count, &capacity, sizeof(uint64_t)));
        changes += capacity != before;
        assert_true(capacity > count);
        ((uint64_t *)array)[count] = count;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(((uint64_t *)array)[i], i);
    assert_true(changes < 10);
    memory_free(array);
}

static void test_memory_map_is_aligned_and_zeroed(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4096, 5000, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 7 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = NULL;
        assert_ok(memory_map(sizes[i], &block));
        assert_int_equal((uintptr_t)block % (sizes[i] >= 2 << 20 ? 2u << 20 : 4096u), 0);
        assert_int_equal(((char *)block)[0] | ((char *)block)[sizes[i] - 1], 0);
        ((char *)block)[sizes[i] - 1] = 1;
        memory_unmap(block, sizes[i]);
    }
    void *block = NULL;
    assert_fails(OUT_OF_MEMORY, memory_map(0, &block));
    assert_fails(OUT_OF_MEMORY, memory_map(SIZE_MAX, &block));
    assert_fails(OUT_OF_MEMORY, memory_map(SIZE_MAX / 8, &block));
    memory_unmap(NULL, 5);
}

int test_allocator(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_alloc_clears_and_checks_products),
        cmocka_unit_test(test_memory_alloc_lines_shares_no_cache_line),
        cmocka_unit_test(test_memory_grow_doubles),
        cmocka_unit_test(test_memory_machine_bytes_is_told),
        cmocka_unit_test(test_memory_map_is_aligned_and_zeroed),
    };
    return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
