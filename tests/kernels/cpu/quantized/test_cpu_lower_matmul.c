#include <math.h>

#include "tests/kernels/fixtures/lower_fixture.h"

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

static void test_rows_with_a_nan_give_nan_alone(void **state) {
    (void)state;
    LowerOperands operands;
    KernelCall call = call_of(true, 3, 40, 20, &operands);
    call.attributes = NULL;
    operands.left[40 + 7] = NAN;
    lower_fixture_check_nan(&call, 3, 20, 1);
    lower_fixture_free(&operands);
}

/* Over more than one tile of columns, packed or not, on every level: what float32 gives. */
static void test_infinities_are_multiplied_as_they_are(void **state) {
    (void)state;
    enum { ROWS = 4, DEPTH = 37, COLUMNS = 70 };
    LowerOperands operands;
    KernelResult result;
    KernelCall call = call_of(true, ROWS, DEPTH, COLUMNS, &operands);
    call.attributes = NULL;
    operands.left[DEPTH + 7] = INFINITY;
    operands.left[2 * DEPTH + 36] = -INFINITY;
    operands.left[3 * DEPTH] = INFINITY, operands.left[3 * DEPTH + 17] = -INFINITY;
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        const float *row = operands.left + i / COLUMNS * DEPTH;
        const int8_t *weights = (const int8_t *)operands.weights + i % COLUMNS;
        double wanted = 0;
        for (int64_t k = 0; k < DEPTH; k++)
            if (isinf(row[k])) wanted += (double)(row[k] * (float)weights[k * COLUMNS]);
        wanted *= (double)operands.scales[i % COLUMNS];
        const double got = kernel_result_at(&result, 0, i);
        assert_true(isnan(wanted) ? isnan(got) : isinf(wanted) ? got == wanted : isfinite(got));
    }
    kernel_result_deinit(&result);
    lower_fixture_check_portable(&call);
    lower_fixture_check_runs(&call);
    lower_fixture_free(&operands);
}

int test_cpu_lower_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_products_have_the_same_bits_however_they_run),
        cmocka_unit_test(test_int8_has_the_same_bits_on_the_portable_device),
        cmocka_unit_test(test_rows_with_a_nan_give_nan_alone),
        cmocka_unit_test(test_infinities_are_multiplied_as_they_are),
    };
    return cmocka_run_group_tests_name("cpu_lower_matmul", tests, NULL, NULL);
}
