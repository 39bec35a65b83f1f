#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall maxima_and_where_they_are[] = {
    {"cuda.pool", "MaxPool", "{kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) | DTYPES_FLOAT, 0, 2, "T[2,3,9,8]"},
    {"cuda.pool", "MaxPool",
        "{kernel_shape=[3], dilations=[2], ceil_mode=1, strides=[2], storage_order=1}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) | DTYPES_FLOAT, 0, 2, "T[2,3,20]"},
    {"cuda.pool", "MaxPool", "{kernel_shape=[2, 2, 2], storage_order=1}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) | DTYPES_FLOAT, 0, 2, "T[1,2,4,5,6]"},
    {"cuda.pool", "MaxPool", "{kernel_shape=[3, 3]}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) | DTYPES_FLOAT, 0, 1, "T[2,3,9,8]"},
};

static void test_maxima_and_where_they_are(void **state) {
    (void)state;
    cuda_fixture_check(maxima_and_where_they_are);
}

static const CudaCall averages_count_what_they_should[] = {
    {"cuda.pool", "AveragePool", "{kernel_shape=[3, 2], pads=[1, 1, 0, 0]}", DTYPES_FLOAT, 16, 1,
        "T[2,3,9,8]"},
    {"cuda.pool", "AveragePool",
        "{kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1, strides=[2, 2], "
        "ceil_mode=1}",
        DTYPES_FLOAT, 16, 1, "T[2,3,9,8]"},
};

static void test_averages_count_what_they_should(void **state) {
    (void)state;
    cuda_fixture_check(averages_count_what_they_should);
}

static const CudaCall planes_become_one_number[] = {
    {"cuda.global_pool", "GlobalAveragePool", NULL, DTYPES_FLOAT, 16, 1, "T[2,3,19,23]"},
    {"cuda.global_pool", "GlobalMaxPool", NULL, DTYPES_FLOAT, 0, 1, "T[2,3,19,23]"},
    {"cuda.global_pool", "GlobalAveragePool", NULL, DTYPE_BIT(DTYPE_FLOAT32), 16, 1, "T[2,3,5]"},
};

static void test_planes_become_one_number(void **state) {
    (void)state;
    cuda_fixture_check(planes_become_one_number);
}

int test_cuda_pool(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maxima_and_where_they_are),
        cmocka_unit_test(test_averages_count_what_they_should),
        cmocka_unit_test(test_planes_become_one_number),
    };
    return cmocka_run_group_tests_name("cuda_pool", tests, NULL, NULL);
}
