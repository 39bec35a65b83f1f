#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void check(const char *name, const char *attributes, DType dtype, const double *x, int rows,
    int columns, const double *expected) {
    DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(dtype, x, 2, rows, columns);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_the_first_or_last_of_equal_elements_is_found(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16,
        DTYPE_INT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8, DTYPE_UINT16, DTYPE_UINT32,
        DTYPE_UINT64};
    const double x[8] = {3, 1, 3, 1, 0, 5, 5, 0};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        check("ArgMax", "{axis=1}", dtypes[i], x, 2, 4, (double[]){0, 1});
        check("ArgMax", "{axis=1, select_last_index=1}", dtypes[i], x, 2, 4, (double[]){2, 2});
        check("ArgMin", "{axis=-1}", dtypes[i], x, 2, 4, (double[]){1, 0});
        check("ArgMin", "{axis=0, keepdims=0}", dtypes[i], x, 2, 4, (double[]){1, 0, 0, 1});
        check("ArgMax", "{axis=0}", dtypes[i], x, 1, 8, (double[8]){0});
    }
}

static void test_nan_is_the_extreme_and_zeros_are_equal(void **state) {
    const double x[4] = {1, (double)NAN, 9, (double)NAN}, zeros[4] = {-0.0, 0.0, -0.0, -1};
    (void)state;
    check("ArgMax", "{axis=1}", DTYPE_FLOAT32, x, 1, 4, (double[]){1});
    check("ArgMin", "{axis=1, select_last_index=1}", DTYPE_FLOAT16, x, 1, 4, (double[]){3});
    check("ArgMax", "{axis=1}", DTYPE_FLOAT32, zeros, 1, 4, (double[]){0});
    check("ArgMax", "{axis=1, select_last_index=1}", DTYPE_FLOAT64, zeros, 1, 4, (double[]){2});
}

/* The extreme stands at each place of a row, and once more elsewhere. */
static void check_places(DType dtype, double extreme) {
    enum { SIZE = 43 };
    double x[SIZE * SIZE], first[SIZE], last[SIZE];
    for (int row = 0; row < SIZE; row++) {
        const int other = (row * 5 + 20) % SIZE;
        for (int k = 0; k < SIZE; k++) x[row * SIZE + k] = k % 7;
        x[row * SIZE + row] = x[row * SIZE + other] = extreme;
        first[row] = row < other ? row : other;
        last[row] = row < other ? other : row;
    }
    check("ArgMax", "{axis=1}", dtype, x, SIZE, SIZE, first);
    check("ArgMax", "{axis=1, select_last_index=1}", dtype, x, SIZE, SIZE, last);
}

static void test_the_extreme_is_found_at_every_place_of_a_row(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16,
        DTYPE_INT8, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT16};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        check_places(dtypes[i], 9);
        if (dtype_is_float(dtypes[i])) check_places(dtypes[i], (double)NAN);
    }
}

static void test_long_rows_and_wide_columns(void **state) {
    const Shape shape = {3, {3, 700, 300}};
    (void)state;
    Tensor *x = device_tensor_random(DTYPE_FLOAT32, &shape, -1, 1, 11);
    for (int axis = 0; axis < 3; axis++) {
        static const char *const attributes[] = {"{axis=0}", "{axis=1}", "{axis=2}"};
        Tensor *out = NULL;
        DeviceCall call = {.operator_name = "ArgMin",
            .attributes = attributes[axis],
            .input_count = 1,
            .inputs = {x}};
        everywhere_run(&call, &out);
        int64_t inner = shape_product(&shape, (uint32_t)axis + 1, 3), dim = shape.dims[axis];
        const float *values = tensor_data(x);
        for (int64_t i = 0; i < shape_count_unchecked(&out->shape); i++) {
            const float *lane = values + i / inner * dim * inner + i % inner;
            int64_t best = 0;
            for (int64_t k = 1; k < dim; k++)
                if (lane[k * inner] < lane[best * inner]) best = k;
            assert_true(device_tensor_get(out, i) == (double)best);
        }
        tensor_release(out);
    }
    tensor_release(x);
}

int test_cpu_arg_reduce(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_or_last_of_equal_elements_is_found),
        cmocka_unit_test(test_nan_is_the_extreme_and_zeros_are_equal),
        cmocka_unit_test(test_the_extreme_is_found_at_every_place_of_a_row),
        cmocka_unit_test(test_long_rows_and_wide_columns),
    };
    return cmocka_run_group_tests_name("cpu_arg_reduce", tests, NULL, NULL);
}
