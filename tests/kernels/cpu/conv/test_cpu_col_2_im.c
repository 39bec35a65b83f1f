#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, const double *x, int rows, int columns,
    const double *image, const double *block, const double *expected) {
    DeviceCall call = {.operator_name = "Col2Im", .attributes = attributes, .input_count = 3};
    call.inputs[0] = device_tensor(dtype, x, 3, 1, rows, columns);
    call.inputs[1] = device_tensor(DTYPE_INT64, image, 1, 2);
    call.inputs[2] = device_tensor(DTYPE_INT64, block, 1, 2);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_blocks_that_overlap_add_up(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16,
        DTYPE_INT8, DTYPE_UINT16, DTYPE_INT32, DTYPE_UINT64};
    static const double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        check(NULL, dtypes[i], x, 4, 2, (double[]){2, 3}, (double[]){2, 2},
            (double[]){1, 2 + 3, 4, 5, 6 + 7, 8});
        check("{strides=[2, 1], pads=[0, 0, 0, 1]}", dtypes[i], x, 2, 4, (double[]){3, 2},
            (double[]){1, 2}, (double[]){1, 2 + 5, 0, 0, 3, 4 + 7});
    }
}

static void test_integers_wrap(void **state) {
    (void)state;
    check(NULL, DTYPE_UINT8, (double[]){200, 100, 100, 7}, 2, 2, (double[]){1, 3}, (double[]){1, 2},
        (double[]){200, 200, 7});
    check(NULL, DTYPE_INT8, (double[]){1, 100, 100, 7}, 2, 2, (double[]){1, 3}, (double[]){1, 2},
        (double[]){1, -56, 7});
}

int test_cpu_col_2_im(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_that_overlap_add_up),
        cmocka_unit_test(test_integers_wrap),
    };
    return cmocka_run_group_tests_name("cpu_col_2_im", tests, NULL, NULL);
}
