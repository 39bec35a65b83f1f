#include "compiler/ir/arena.h"
#include "tests/compiler/compiler_fixtures.h"

static void test_arena_gives_cleared_aligned_memory_of_any_size(void **state) {
    (void)state;
    Arena arena = {0};
    for (size_t size = 1; size < 300000; size = size * 3 + 1) {
        void *block;
        assert_ok(arena_alloc(&arena, size, 1, &block));
        assert_int_equal((uintptr_t)block % 16, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(((uint8_t *)block)[i], 0);
        memset(block, 0xff, size);
    }
    arena_deinit(&arena);
}

static void test_arena_copies_and_refuses_sizes_that_wrap(void **state) {
    (void)state;
    Arena arena = {0};
    void *block;
    assert_ok(arena_copy(&arena, "layover", 8, 1, &block));
    assert_string_equal(block, "layover");
    assert_ok(arena_alloc(&arena, 0, 8, &block));
    assert_null(block);
    assert_fails(EXHAUSTED, arena_alloc(&arena, SIZE_MAX / 2, 8, &block));
    arena_deinit(&arena);
}

int test_arena(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_gives_cleared_aligned_memory_of_any_size),
        cmocka_unit_test(test_arena_copies_and_refuses_sizes_that_wrap),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
