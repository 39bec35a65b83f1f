#include "kernels/cuda/planners/cuda_copy.h"

#include "tests/support/test_support.h"

/* The largest unit that all of the numbers are a multiple of. */
static void test_units_divide_sizes_and_addresses(void **state) {
    (void)state;
    assert_int_equal(cuda_copy_unit(64, 4096, 32), 16);
    assert_int_equal(cuda_copy_unit(64, 4096 + 8, 32), 8);
    assert_int_equal(cuda_copy_unit(12, 4096, 32), 4);
    assert_int_equal(cuda_copy_unit(64, 4096, 2), 2);
    assert_int_equal(cuda_copy_unit(1, 4096, 32), 1);
    assert_int_equal(cuda_copy_unit(0, 0, 0), 16);
}

static void test_copies_collapse_what_both_sides_walk_through(void **state) {
    (void)state;
    const int64_t dims[] = {2, 1, 3, 4}, from[] = {12, 99, 4, 1}, wide[] = {24, 99, 4, 1};
    CudaCopy copy;
    cuda_copy_make(4, dims, from, 5, from, 7, 4, &copy);
    assert_false(copy.turns);
    assert_int_equal(copy.plain.rank, 1);
    assert_int_equal(copy.plain.count, 24);
    assert_int_equal(copy.plain.dims[0], 24);
    assert_int_equal(copy.from_offset, 20);
    assert_int_equal(copy.to_offset, 28);
    cuda_copy_make(4, dims, wide, 0, from, 0, 4, &copy);
    assert_int_equal(copy.plain.rank, 2);
    assert_int_equal(copy.plain.dims[1], 12);
    cuda_copy_make(0, NULL, NULL, 0, NULL, 0, 4, &copy);
    assert_int_equal(copy.plain.count, 1);
}

static void test_only_wide_transposes_go_in_tiles(void **state) {
    (void)state;
    const int64_t dims[] = {3, 40, 50}, from[] = {2000, 1, 40}, to[] = {2000, 50, 1};
    CudaCopy copy;
    cuda_copy_make(3, dims, from, 0, to, 0, 2, &copy);
    assert_true(copy.turns);
    assert_int_equal(copy.tiles.batches, 3);
    assert_int_equal(copy.tiles.rows, 50);
    assert_int_equal(copy.tiles.columns, 40);
    const int64_t narrow[] = {3, 4, 50}, narrow_from[] = {200, 1, 4}, narrow_to[] = {200, 50, 1};
    cuda_copy_make(3, narrow, narrow_from, 0, narrow_to, 0, 2, &copy);
    assert_false(copy.turns);
}

int test_cuda_copy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_divide_sizes_and_addresses),
        cmocka_unit_test(test_copies_collapse_what_both_sides_walk_through),
        cmocka_unit_test(test_only_wide_transposes_go_in_tiles),
    };
    return cmocka_run_group_tests_name("cuda_copy", tests, NULL, NULL);
}
