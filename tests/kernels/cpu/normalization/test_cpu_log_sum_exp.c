#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(
    const char *attributes, Tensor *owned_input, double axis, const double *expected) {
    DeviceCall call = {
        .operator_name = "ReduceLogSumExp", .attributes = attributes, .input_count = 2};
    call.inputs[0] = owned_input;
    call.inputs[1] = device_tensor(DTYPE_INT64, &axis, 1, 1);
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

/* exp of these alone is infinite, or 0. */
static void test_large_numbers_do_not_overflow(void **state) {
    static const double x[4] = {1000, 1000, -2000, -2000};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check("{keepdims=0}", device_tensor(dtypes[i], x, 2, 2, 2), 1,
            (double[]){1000 + log(2), -2000 + log(2)});
        check(NULL, device_tensor(dtypes[i], x, 2, 2, 2), 0, (double[]){1000, 1000});
    }
}

static void test_infinities_nan_and_nothing(void **state) {
    const double high = (double)INFINITY, nan = (double)NAN;
    (void)state;
    const double x[8] = {-high, -high, high, -high, nan, high, 0, 0};
    check("{keepdims=0}", device_tensor(DTYPE_FLOAT32, x, 2, 4, 2), 1,
        (double[]){-high, high, nan, log(2)});
    check("{keepdims=0}", device_tensor(DTYPE_FLOAT16, x, 2, 2, 0), 1, (double[]){-high, -high});
}

static void test_columns_and_rows_wider_than_a_chunk(void **state) {
    (void)state;
    enum { ROWS = 3, COLUMNS = 200 };
    static double x[ROWS * COLUMNS], columns[COLUMNS], rows[ROWS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        x[i] = i % 13 * 0.25 - 1;
        columns[i % COLUMNS] += exp(x[i]);
        rows[i / COLUMNS] += exp(x[i]);
    }
    for (int i = 0; i < COLUMNS; i++) columns[i] = log(columns[i]);
    for (int i = 0; i < ROWS; i++) rows[i] = log(rows[i]);
    check(NULL, device_tensor(DTYPE_FLOAT32, x, 2, ROWS, COLUMNS), 0, columns);
    check(NULL, device_tensor(DTYPE_FLOAT32, x, 2, ROWS, COLUMNS), 1, rows);
}

int test_cpu_log_sum_exp(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_numbers_do_not_overflow),
        cmocka_unit_test(test_infinities_nan_and_nothing),
        cmocka_unit_test(test_columns_and_rows_wider_than_a_chunk),
    };
    return cmocka_run_group_tests_name("cpu_log_sum_exp", tests, NULL, NULL);
}
