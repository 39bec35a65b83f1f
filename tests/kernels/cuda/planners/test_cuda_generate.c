#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall results_from_shapes_and_numbers[] = {
    {"cuda.constant_of_shape", "ConstantOfShape",
        "{value=tensor(int64, [1], \"0500000000000000\")}", DTYPE_BIT(DTYPE_NONE), 0, 1,
        "i64[2]=3,700"},
    {"cuda.shape", "Shape", "{start=-2}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,3,4]"},
    {"cuda.size", "Size", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,3,4]"},
    {"cuda.one_hot", "OneHot", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[2,3]:-4:5 i64[]=4 T[2]"},
    {"cuda.range", "Range", NULL,
        DTYPE_BIT(DTYPE_FLOAT64) | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_INT32) |
            DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_FLOAT32),
        0, 1, "T[]=1 T[]=-600 T[]=-2"},
};

static void test_results_from_shapes_and_numbers(void **state) {
    (void)state;
    cuda_fixture_check(results_from_shapes_and_numbers);
}

int test_cuda_generate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_from_shapes_and_numbers),
    };
    return cmocka_run_group_tests_name("cuda_generate", tests, NULL, NULL);
}
