#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void check_global(const char *name, DType dtype, Shape shape) {
    const int64_t planes = shape_product(&shape, 0, 2), size = shape_product(&shape, 2, shape.rank);
    float *x = kernel_random_floats(1, planes * size);
    double *wide = malloc((size_t)(planes * size) * sizeof(double) + 8);
    double *expected = malloc((size_t)planes * sizeof(double) + 8);
    assert_non_null(wide);
    assert_non_null(expected);
    for (int64_t i = 0; i < planes; i++) {
        double sum = 0, most = -(double)INFINITY;
        for (int64_t j = 0; j < size; j++) {
            wide[i * size + j] = (double)x[i * size + j];
            sum += wide[i * size + j];
            most = fmax(most, wide[i * size + j]);
        }
        expected[i] = name[6] == 'A' ? sum / (double)size : most;
    }
    const KernelCall call = {.name = name,
        .input_count = 1,
        .output_count = 1,
        .inputs = {{dtype, shape, dtype == DTYPE_FLOAT32 ? (void *)x : (void *)wide}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-6);
    kernel_result_deinit(&result);
    free(expected);
    free(wide);
    free(x);
}

static void test_global_pools_leave_one_number_of_each_plane(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "GlobalMaxPool" : "GlobalAveragePool";
        check_global(name, DTYPE_FLOAT32, (Shape){4, {2, 5, 7, 7}});
        check_global(name, DTYPE_FLOAT32, (Shape){3, {1, 3, 100}});
        check_global(name, DTYPE_FLOAT32, (Shape){4, {0, 3, 2, 2}});
        check_global(name, DTYPE_FLOAT64, (Shape){4, {2, 3, 5, 4}});
    }
}

int test_cpu_pool_global(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_global_pools_leave_one_number_of_each_plane),
    };
    return cmocka_run_group_tests_name("cpu_pool_global", tests, NULL, NULL);
}
