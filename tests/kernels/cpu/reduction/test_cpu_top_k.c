#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *attributes, DType dtype, const double *x, int rows, int columns,
    double k, const double *values, const double *indices) {
    Tensor *outputs[2] = {0};
    DeviceCall call = {
        .operator_name = "TopK", .attributes = attributes, .input_count = 2, .output_count = 2};
    call.inputs[0] = device_tensor(dtype, x, 2, rows, columns);
    call.inputs[1] = device_tensor(DTYPE_INT64, &k, 1, 1);
    everywhere_run(&call, outputs);
    everywhere_compare(outputs[0], values, 0);
    everywhere_compare(outputs[1], indices, 0);
    tensor_release(outputs[0]);
    tensor_release(outputs[1]);
    everywhere_release(&call);
}

static void test_equal_elements_go_by_their_index(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16,
        DTYPE_INT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8, DTYPE_UINT16, DTYPE_UINT32,
        DTYPE_UINT64};
    const double x[10] = {3, 7, 7, 1, 3, 5, 5, 5, 5, 5};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        check(NULL, dtypes[i], x, 2, 5, 3, (double[]){7, 7, 3, 5, 5, 5},
            (double[]){1, 2, 0, 0, 1, 2});
        check("{largest=0}", dtypes[i], x, 2, 5, 2, (double[]){1, 3, 5, 5}, (double[]){3, 0, 0, 1});
        check("{axis=0}", dtypes[i], x, 2, 5, 1, (double[]){5, 7, 7, 5, 5},
            (double[]){1, 0, 0, 1, 1});
        check(NULL, dtypes[i], x, 2, 5, 0, NULL, NULL);
        check(NULL, dtypes[i], x, 1, 5, 5, (double[]){7, 7, 3, 3, 1}, (double[]){1, 2, 0, 4, 3});
    }
}

static void test_nan_counts_as_the_largest_and_negative_numbers_sort(void **state) {
    const double nan = (double)NAN, x[6] = {-1, nan, (double)INFINITY, -5, 0, -0.0};
    (void)state;
    check(NULL, DTYPE_FLOAT32, x, 1, 6, 6, (double[]){nan, (double)INFINITY, 0, 0, -1, -5},
        (double[]){1, 2, 4, 5, 0, 3});
    check("{largest=0}", DTYPE_FLOAT16, x, 1, 6, 3, (double[]){-5, -1, 0}, (double[]){3, 0, 4});
}

static void test_a_long_row_is_ordered_as_by_a_full_sort(void **state) {
    const Shape shape = {2, {5, 3000}};
    double k = 2500;
    Tensor *outputs[2] = {0};
    (void)state;
    DeviceCall call = {.operator_name = "TopK", .input_count = 2, .output_count = 2};
    call.inputs[0] = device_tensor_random(DTYPE_INT16, &shape, -500, 500, 1);
    call.inputs[1] = device_tensor(DTYPE_INT64, &k, 1, 1);
    everywhere_run(&call, outputs);
    for (int64_t row = 0; row < 5; row++)
        for (int64_t i = 0; i < 2500; i++) {
            double value = device_tensor_get(outputs[0], row * 2500 + i);
            double index = device_tensor_get(outputs[1], row * 2500 + i);
            assert_true(device_tensor_get(call.inputs[0], row * 3000 + (int64_t)index) == value);
            if (i == 0) continue;
            double previous = device_tensor_get(outputs[0], row * 2500 + i - 1);
            double before = device_tensor_get(outputs[1], row * 2500 + i - 1);
            assert_true(previous > value || (previous == value && before < index));
        }
    tensor_release(outputs[0]);
    tensor_release(outputs[1]);
    everywhere_release(&call);
}

int test_cpu_top_k(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_elements_go_by_their_index),
        cmocka_unit_test(test_nan_counts_as_the_largest_and_negative_numbers_sort),
        cmocka_unit_test(test_a_long_row_is_ordered_as_by_a_full_sort),
    };
    return cmocka_run_group_tests_name("cpu_top_k", tests, NULL, NULL);
}
