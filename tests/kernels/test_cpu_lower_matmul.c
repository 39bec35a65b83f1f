#include <math.h>

#include "tests/kernels/lower_fixture.h"

/* [rows, depth] times [depth, columns] */
static KernelCall call_of(
    bool int8, int64_t rows, int64_t depth, int64_t columns, LowerOperands *out) {
    const Shape left = {2, {rows, depth}}, weights = {2, {depth, columns}};
    const Shape result = {2, {rows, columns}};
    return lower_fixture_call(int8, int8 ? "FusedMatMulInt8" : "FusedMatMulBFloat16",
        "{activation=\"gelu_erf\"}", &left, &weights, &result, out);
}

/* More than one tile in every direction, and blocks of the depth. */
static void test_lower_products_have_the_same_bits_however_they_run(void **state) {
    (void)state;
    static const struct {
        int64_t rows, depth, columns;
    } sizes[] = {{1, 300, 130}, {5, 33, 64}, {100, 130, 70}, {97, 700, 20}};
    for (int int8 = 0; int8 < 2; int8++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            LowerOperands operands;
            const KernelCall call =
                call_of(int8, sizes[i].rows, sizes[i].depth, sizes[i].columns, &operands);
            lower_fixture_check_runs(&call);
            lower_fixture_free(&operands);
        }
}

/* Sums of integers: the portable device gives what every other does. */
static void test_int8_has_the_same_bits_on_the_portable_device(void **state) {
    (void)state;
    LowerOperands operands;
    const KernelCall call = call_of(true, 50, 257, 90, &operands);
    lower_fixture_check_portable(&call);
    lower_fixture_free(&operands);
}

static void test_rows_without_a_finite_range_give_nan_alone(void **state) {
    (void)state;
    LowerOperands operands;
    KernelCall call = call_of(true, 3, 40, 20, &operands);
    call.attributes = NULL;
    operands.left[40 + 7] = INFINITY;
    lower_fixture_check_nan(&call, 3, 20, 1);
    lower_fixture_free(&operands);
}

int test_cpu_lower_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_products_have_the_same_bits_however_they_run),
        cmocka_unit_test(test_int8_has_the_same_bits_on_the_portable_device),
        cmocka_unit_test(test_rows_without_a_finite_range_give_nan_alone),
    };
    return cmocka_run_group_tests_name("cpu_lower_matmul", tests, NULL, NULL);
}
