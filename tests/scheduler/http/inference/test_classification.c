#include "scheduler/http/inference/classification.h"

#include <math.h>
#include <string.h>

#include "tests/support/test_support.h"

static void check(DType dtype, const Shape *shape, const void *data, uint64_t count, uint32_t rank,
    const char *const *wanted, size_t wanted_count) {
    NamedArray array = {0}, classes = {0};
    assert_ok(named_array_init(&array, "p", dtype, shape));
    if (array.size) memcpy(array.data, data, array.size);
    assert_ok(classification_make(&array, count, &classes));
    assert_int_equal(classes.shape.rank, rank);
    assert_int_equal(shape_count_unchecked(&classes.shape), wanted_count);
    for (size_t i = 0; i < wanted_count; i++) assert_string_equal(classes.texts[i], wanted[i]);
    named_array_deinit(&array);
    named_array_deinit(&classes);
}

static void test_classification_takes_the_largest_of_each_row(void **state) {
    (void)state;
    static const float floats[] = {1, 3, 3, 2, -1, -2};
    static const int8_t bytes[] = {-5, 7, -128};
    static const char *const rows[] = {"3.000000:1", "3.000000:2", "2.000000:0", "-1.000000:1"};
    static const char *const one[] = {"7.000000:1", "-5.000000:0", "-128.000000:2"};
    const double with_nan[] = {(double)NAN, 1};
    static const char *const last[] = {"1.000000:1"};
    check(DTYPE_FLOAT32, &(Shape){.rank = 2, .dims = {2, 3}}, floats, 2, 2, rows, 4);
    check(DTYPE_INT8, &(Shape){.rank = 1, .dims = {3}}, bytes, 9, 1, one, 3);
    check(DTYPE_FLOAT64, &(Shape){.rank = 1, .dims = {2}}, with_nan, 1, 1, last, 1);
    check(DTYPE_FLOAT32, &(Shape){.rank = 2, .dims = {0, 3}}, floats, 2, 2, rows, 0);
}

static void test_classification_refuses_other_types_and_many(void **state) {
    (void)state;
    NamedArray array = {0}, classes;
    assert_ok(named_array_init(&array, "p", DTYPE_BOOL, &(Shape){.rank = 1, .dims = {3}}));
    assert_fails(UNSUPPORTED, classification_make(&array, 1, &classes));
    named_array_deinit(&array);
    assert_ok(named_array_init(&array, "p", DTYPE_UINT8, &(Shape){.rank = 1, .dims = {70000}}));
    assert_fails(INVALID, classification_make(&array, 70000, &classes));
    named_array_deinit(&array);
}

int test_classification(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classification_takes_the_largest_of_each_row),
        cmocka_unit_test(test_classification_refuses_other_types_and_many),
    };
    return cmocka_run_group_tests_name("classification", tests, NULL, NULL);
}
