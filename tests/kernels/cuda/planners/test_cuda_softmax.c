#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall softmax_along_any_axis[] = {
    {"cuda.softmax", "Softmax", NULL, DTYPES_FLOAT, 33, 1, "T[5,700]"},
    {"cuda.softmax", "Softmax", "{axis=0}", DTYPES_FLOAT, 33, 1, "T[9,33]"},
    {"cuda.softmax", "Softmax", "{axis=1}", DTYPES_FLOAT, 33, 1, "T[2,40,3]"},
    {"cuda.softmax", "Softmax", NULL, DTYPES_FLOAT, 33, 1, "T[7,1]"},
    {"cuda.softmax", "Softmax", NULL, DTYPES_FLOAT, 33, 1, "T[7,0]"},
    {"cuda.softmax", "LogSoftmax", NULL, DTYPES_FLOAT, 33, 1, "T[5,700]"},
    {"cuda.softmax", "LogSoftmax", "{axis=0}", DTYPES_FLOAT, 33, 1, "T[9,33]"},
    {"cuda.softmax", "LogSoftmax", "{axis=1}", DTYPES_FLOAT, 33, 1, "T[2,40,3]"},
    {"cuda.softmax", "LogSoftmax", NULL, DTYPES_FLOAT, 33, 1, "T[7,1]"},
    {"cuda.softmax", "LogSoftmax", NULL, DTYPES_FLOAT, 33, 1, "T[7,0]"},
};

static void test_softmax_along_any_axis(void **state) {
    (void)state;
    cuda_fixture_check(softmax_along_any_axis);
}

int test_cuda_softmax(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_along_any_axis),
    };
    return cmocka_run_group_tests_name("cuda_softmax", tests, NULL, NULL);
}
