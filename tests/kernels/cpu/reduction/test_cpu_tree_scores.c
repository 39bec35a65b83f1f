#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

enum { ROWS = 1100 };

/* One tree of a test and two leaves: x <= 1 has the weight 3, others 5. */
static DeviceCall stump(int rows, const double *values) {
    DeviceCall call = {.operator_name = "TreeScores", .attributes = "{depth=4}", .input_count = 8};
    const double all = (double)INFINITY;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, values, 2, rows, 1);
    call.inputs[1] =
        device_tensor(DTYPE_FLOAT32, (double[]){-all, 1, -all, all, -all, all}, 2, 3, 2);
    call.inputs[2] = device_tensor(DTYPE_INT32, (double[]){0, 1, 1, 1, 1, 2}, 2, 3, 2);
    call.inputs[3] = device_tensor(DTYPE_INT32, (double[]){0}, 1, 1);
    call.inputs[4] = device_tensor(DTYPE_INT32, (double[]){0, 0, 1, 2}, 1, 4);
    call.inputs[5] = device_tensor(DTYPE_INT32, (double[]){0, 0}, 1, 2);
    call.inputs[6] = device_tensor(DTYPE_FLOAT32, (double[]){3, 5}, 1, 2);
    call.inputs[7] = device_tensor(DTYPE_FLOAT32, (double[]){0.5}, 1, 1);
    return call;
}

static void test_a_row_goes_where_its_value_is_within(void **state) {
    (void)state;
    const double values[4] = {0, 1, 1.5, (double)NAN};
    DeviceCall call = stump(4, values);
    everywhere_check(&call, (double[]){3.5, 3.5, 5.5, 5.5}, 0);
    everywhere_release(&call);
}

/* Rows of several units, the last one short. */
static void test_many_rows_are_shared_out(void **state) {
    (void)state;
    static double values[ROWS], expected[ROWS];
    for (int i = 0; i < ROWS; i++) {
        values[i] = i % 3;
        expected[i] = values[i] <= 1 ? 3.5 : 5.5;
    }
    DeviceCall call = stump(ROWS, values);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

int test_cpu_tree_scores(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_goes_where_its_value_is_within),
        cmocka_unit_test(test_many_rows_are_shared_out),
    };
    return cmocka_run_group_tests_name("cpu_tree_scores", tests, NULL, NULL);
}
