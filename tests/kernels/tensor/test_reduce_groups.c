#include "kernels/tensor/reduce_groups.h"

#include "tests/support/test_support.h"

static ReduceGroups groups_of(const Shape *shape, const char *reduced) {
    bool flags[SHAPE_RANK_MAX] = {false};
    ReduceGroups groups;
    for (uint32_t i = 0; i < shape->rank; i++) flags[i] = reduced[i] == 'r';
    reduce_groups_make(shape, flags, &groups);
    return groups;
}

static void test_neighbours_of_one_fate_become_one_group(void **state) {
    (void)state;
    const Shape shape = {5, {2, 3, 1, 4, 5}};
    ReduceGroups rows = groups_of(&shape, "kkrrr");
    assert_false(rows.columns);
    assert_int_equal(rows.width, 6);
    assert_int_equal(rows.length, 20);
    assert_int_equal(rows.stride, 20);
    assert_int_equal(rows.outputs, 6);
    ReduceGroups columns = groups_of(&shape, "rrkkk");
    assert_true(columns.columns);
    assert_int_equal(columns.width, 20);
    assert_int_equal(columns.length, 6);
    assert_int_equal(columns.outputs, 20);
}

static void test_outer_groups_are_walked_through(void **state) {
    (void)state;
    const Shape shape = {4, {2, 3, 4, 5}};
    ReduceGroups groups = groups_of(&shape, "rkrk");
    assert_true(groups.columns);
    assert_int_equal(groups.reduced_rank, 1);
    assert_int_equal(groups.reduced_dims[0], 2);
    assert_int_equal(groups.reduced_strides[0], 60);
    assert_int_equal(groups.kept_rank, 1);
    assert_int_equal(groups.kept_strides[0], 20);
    assert_int_equal(groups.repeats, 2);
    assert_int_equal(groups.outputs, 15);
}

static void test_nothing_to_reduce(void **state) {
    (void)state;
    const Shape scalar = {0, {0}};
    ReduceGroups groups = groups_of(&scalar, "");
    assert_int_equal(groups.outputs, 1);
    assert_int_equal(groups.length, 1);
}

static void test_an_index_is_walked_row_by_row(void **state) {
    (void)state;
    const int64_t dims[2] = {3, 4}, strides[2] = {100, 10};
    assert_int_equal(reduce_groups_walk(2, dims, strides, 0), 0);
    assert_int_equal(reduce_groups_walk(2, dims, strides, 5), 110);
    assert_int_equal(reduce_groups_walk(0, dims, strides, 0), 0);
}

int test_reduce_groups(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_index_is_walked_row_by_row),
        cmocka_unit_test(test_neighbours_of_one_fate_become_one_group),
        cmocka_unit_test(test_outer_groups_are_walked_through),
        cmocka_unit_test(test_nothing_to_reduce),
    };
    return cmocka_run_group_tests_name("reduce_groups", tests, NULL, NULL);
}
