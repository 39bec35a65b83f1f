#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall rows_are_normalised[] = {
    {"cuda.normalization", "LayerNormalization", NULL, DTYPES_FLOAT, 166, 3,
        "T[5,700] T[700] T[700]"},
    {"cuda.normalization", "LayerNormalization", "{axis=1}", DTYPES_FLOAT, 166, 1,
        "T[3,4,5] T[4,5] T[5]"},
    {"cuda.normalization", "LayerNormalization", NULL, DTYPES_FLOAT, 166, 1,
        "T[3,4,5] T[1] T[3,1,1]"},
    {"cuda.normalization", "RMSNormalization", NULL, DTYPES_FLOAT, 166, 1, "T[5,70] T[70]"},
    {"cuda.normalization", "InstanceNormalization", NULL, DTYPES_FLOAT, 166, 1,
        "T[2,3,9,5] T[3] T[3]"},
    {"cuda.normalization", "LayerNormalization", NULL, DTYPE_BIT(DTYPE_FLOAT32), 0, 3,
        "T[5,0] T[0]"},
};

static const CudaCall nearly_equal_elements[] = {
    {"cuda.normalization", "LayerNormalization", NULL, DTYPE_BIT(DTYPE_FLOAT32), 166, 3,
        "T[5,700]:1000:1000.01 T[700] T[700]"},
    {"cuda.normalization", "InstanceNormalization", NULL, DTYPE_BIT(DTYPE_FLOAT32), 166, 1,
        "T[2,3,90,5]:-100.1:-100 T[3] T[3]"},
};

/* Their mean, rounded, is as far away as they are from each other. */
static void test_nearly_equal_rows_are_normalised(void **state) {
    (void)state;
    cuda_fixture_check(nearly_equal_elements);
}

/* Operands of one element, of a row, and such as only strides can read. */
static void test_rows_are_normalised(void **state) {
    (void)state;
    cuda_fixture_check(rows_are_normalised);
}

static const CudaCall channels_are_scaled[] = {
    {"cuda.batch_normalization", "BatchNormalization", NULL, DTYPES_FLOAT, 166, 1,
        "T[2,3,5,7] T[3] T[3] T[3] T[3]:0.5:2"},
    {"cuda.lrn", "LRN", "{size=5}", DTYPE_BIT(DTYPE_FLOAT32), 160, 1, "T[2,9,3,5]"},
    {"cuda.lrn", "LRN", "{size=4}", DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16), 160, 1,
        "T[2,3,3,5]"},
};

static void test_channels_are_scaled(void **state) {
    (void)state;
    cuda_fixture_check(channels_are_scaled);
}

int test_cuda_normalization(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_normalised),
        cmocka_unit_test(test_nearly_equal_rows_are_normalised),
        cmocka_unit_test(test_channels_are_scaled),
    };
    return cmocka_run_group_tests_name("cuda_normalization", tests, NULL, NULL);
}
