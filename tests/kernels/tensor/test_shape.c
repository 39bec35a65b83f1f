#include "kernels/tensor/shape.h"

#include "tests/support/test_support.h"

static Shape make(uint32_t rank, int64_t a, int64_t b, int64_t c) {
    const int64_t dims[] = {a, b, c};
    return shape_make(rank, dims);
}

static void test_shape_count_multiplies_the_dimensions(void **state) {
    (void)state;
    int64_t count;
    Shape shape = make(3, 2, 3, 4), scalar = {0}, empty = make(2, 5, 0, 0);
    assert_ok(shape_count(&shape, &count));
    assert_int_equal(count, 24);
    assert_ok(shape_count(&scalar, &count));
    assert_int_equal(count, 1);
    assert_ok(shape_count(&empty, &count));
    assert_int_equal(count, 0);
}

/* The strides of the outer dimensions must not overflow even when an inner one is 0. */
static void test_shape_count_refuses_what_overflows(void **state) {
    (void)state;
    int64_t count = 7;
    Shape big = make(2, INT64_C(1) << 40, INT64_C(1) << 40, 0);
    Shape hidden = make(3, INT64_C(1) << 40, INT64_C(1) << 40, 0);
    Shape negative = make(2, 3, -1, 0);
    Shape edge = make(2, INT64_C(1) << 31, INT64_C(1) << 31, 0);
    Shape beyond = make(2, INT64_C(1) << 31, (INT64_C(1) << 31) + 1, 0);
    Shape rank = {.rank = 9};
    assert_fails(INVALID, shape_count(&big, &count));
    assert_fails(INVALID, shape_count(&hidden, &count));
    assert_fails_saying(INVALID, "dimension 1 is -1", shape_count(&negative, &count));
    assert_fails(INVALID, shape_count(&rank, &count));
    assert_fails(INVALID, shape_count(&beyond, &count));
    assert_int_equal(count, 7);
    assert_ok(shape_count(&edge, &count));
    assert_int_equal(count, INT64_C(1) << 62);
}

static void test_shape_bytes_rounds_small_elements_up(void **state) {
    (void)state;
    uint64_t bytes;
    Shape shape = make(1, 3, 0, 0), huge = make(1, INT64_C(1) << 62, 0, 0);
    assert_ok(shape_bytes(&shape, DTYPE_INT4, &bytes));
    assert_int_equal(bytes, 2);
    assert_ok(shape_bytes(&shape, DTYPE_FLOAT64, &bytes));
    assert_int_equal(bytes, 24);
    assert_fails(INVALID, shape_bytes(&huge, DTYPE_FLOAT32, &bytes));
    assert_fails_saying(INVALID, "string", shape_bytes(&shape, DTYPE_STRING, &bytes));
}

static void test_shape_broadcast_follows_numpy(void **state) {
    (void)state;
    Shape a = make(3, 2, 1, 4), b = make(2, 3, 1, 0), wanted = make(3, 2, 3, 4), out;
    assert_ok(shape_broadcast(&a, &b, &out));
    assert_true(shape_equal(&out, &wanted));
    assert_ok(shape_broadcast(&b, &a, &out));
    assert_true(shape_equal(&out, &wanted));
    Shape scalar = {0}, empty = make(1, 0, 0, 0), one = make(1, 1, 0, 0);
    assert_ok(shape_broadcast(&scalar, &a, &out));
    assert_true(shape_equal(&out, &a));
    assert_ok(shape_broadcast(&empty, &one, &out));
    assert_true(shape_equal(&out, &empty));
    Shape other = make(2, 3, 3, 0);
    assert_fails_saying(
        INVALID, "[2, 1, 4] and [3, 3] do not broadcast", shape_broadcast(&a, &other, &out));
}

static void test_shape_broadcast_strides_are_zero_along_repeated_dimensions(void **state) {
    (void)state;
    Shape shape = make(2, 3, 1, 0), target = make(3, 2, 3, 4);
    int64_t strides[SHAPE_RANK_MAX];
    shape_broadcast_strides(&shape, &target, strides);
    assert_int_equal(strides[0], 0);
    assert_int_equal(strides[1], 1);
    assert_int_equal(strides[2], 0);
    shape_strides(&target, strides);
    assert_int_equal(strides[0], 12);
    assert_int_equal(strides[2], 1);
}

static void test_shape_axis_counts_from_both_ends(void **state) {
    (void)state;
    uint32_t axis;
    assert_ok(shape_axis(-1, 3, &axis));
    assert_int_equal(axis, 2);
    assert_ok(shape_axis(0, 3, &axis));
    assert_int_equal(axis, 0);
    assert_fails(INVALID, shape_axis(3, 3, &axis));
    assert_fails(INVALID, shape_axis(-4, 3, &axis));
    assert_fails(INVALID, shape_axis(INT64_MIN, 3, &axis));
    assert_fails(INVALID, shape_axis(0, 0, &axis));
}

static void test_shape_print_looks_like_a_list(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    Shape shape = make(2, 2, 3, 0), scalar = {0};
    shape_print(&shape, &text);
    shape_print(&scalar, &text);
    assert_string_equal(text_builder_get(&text), "[2, 3][]");
}

int test_shape(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_count_multiplies_the_dimensions),
        cmocka_unit_test(test_shape_count_refuses_what_overflows),
        cmocka_unit_test(test_shape_bytes_rounds_small_elements_up),
        cmocka_unit_test(test_shape_broadcast_follows_numpy),
        cmocka_unit_test(test_shape_broadcast_strides_are_zero_along_repeated_dimensions),
        cmocka_unit_test(test_shape_axis_counts_from_both_ends),
        cmocka_unit_test(test_shape_print_looks_like_a_list),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
