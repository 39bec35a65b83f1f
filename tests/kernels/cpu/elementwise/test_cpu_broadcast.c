#include "kernels/cpu/elementwise/cpu_broadcast.h"
#include "tests/support/test_support.h"

static CpuBroadcast collapse(
    const Shape *output, const Shape *a, const Shape *b, int64_t (*strides)[SHAPE_RANK_MAX]) {
    CpuBroadcast broadcast;
    shape_broadcast_strides(a, output, strides[0]);
    shape_broadcast_strides(b, output, strides[1]);
    cpu_broadcast_collapse(output, 2, strides, &broadcast);
    return broadcast;
}

static void test_equal_shapes_become_one_dimension(void **state) {
    int64_t strides[2][SHAPE_RANK_MAX];
    Shape shape = {4, {2, 1, 3, 4}};
    (void)state;
    CpuBroadcast made = collapse(&shape, &shape, &shape, strides);
    assert_int_equal(made.rank, 1);
    assert_int_equal(made.dims[0], 24);
    assert_int_equal(made.count, 24);
    assert_int_equal(strides[0][0], 1);
    assert_int_equal(strides[1][0], 1);
}

static void test_a_bias_in_the_middle_keeps_three_dimensions(void **state) {
    int64_t strides[2][SHAPE_RANK_MAX];
    Shape shape = {4, {2, 3, 4, 5}}, bias = {3, {3, 1, 1}};
    (void)state;
    CpuBroadcast made = collapse(&shape, &shape, &bias, strides);
    assert_int_equal(made.rank, 3);
    assert_int_equal(made.dims[2], 20);
    assert_int_equal(strides[1][0], 0);
    assert_int_equal(strides[1][1], 1);
    assert_int_equal(strides[1][2], 0);
}

static void test_scalars_and_ones_become_one_dimension_of_one(void **state) {
    int64_t strides[2][SHAPE_RANK_MAX];
    Shape scalar = {0}, ones = {3, {1, 1, 1}};
    (void)state;
    CpuBroadcast made = collapse(&ones, &scalar, &ones, strides);
    assert_int_equal(made.rank, 1);
    assert_int_equal(made.dims[0], 1);
    assert_int_equal(made.count, 1);
}

static void test_a_dimension_of_zero_leaves_nothing(void **state) {
    int64_t strides[2][SHAPE_RANK_MAX];
    Shape shape = {3, {2, 0, 3}}, row = {1, {3}};
    (void)state;
    assert_int_equal(collapse(&shape, &shape, &row, strides).count, 0);
}

int test_cpu_broadcast(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_shapes_become_one_dimension),
        cmocka_unit_test(test_a_bias_in_the_middle_keeps_three_dimensions),
        cmocka_unit_test(test_scalars_and_ones_become_one_dimension_of_one),
        cmocka_unit_test(test_a_dimension_of_zero_leaves_nothing),
    };
    return cmocka_run_group_tests_name("cpu_broadcast", tests, NULL, NULL);
}
