#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall reductions_over_rows_and_columns[] = {
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_FLOAT, 166, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_INTEGER, 0, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_FLOAT, 166, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPES_INTEGER, 0, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceMax", NULL, DTYPES_NUMBER, 0, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceMax", NULL, DTYPES_NUMBER, 0, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceMax", NULL, DTYPES_NUMBER, 0, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceMax", NULL, DTYPES_NUMBER, 0, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceMax", NULL, DTYPES_NUMBER, 0, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceMin", NULL, DTYPES_NUMBER, 0, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceMin", NULL, DTYPES_NUMBER, 0, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceMin", NULL, DTYPES_NUMBER, 0, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceMin", NULL, DTYPES_NUMBER, 0, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceMin", NULL, DTYPES_NUMBER, 0, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_FLOAT, 166, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceL2", NULL, DTYPES_INTEGER, 0, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=1"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_FLOAT, 166, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_INTEGER, 0, 1, "T[3,700] i64[1]=0"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=0,2"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_FLOAT, 166, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_INTEGER, 0, 1, "T[2,5,3,70] i64[2]=1,3"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_FLOAT, 166, 1, "T[7,5] i64[1]=1"},
    {"cuda.reduce", "ReduceSumSquare", NULL, DTYPES_INTEGER, 0, 1, "T[7,5] i64[1]=1"},
};

static void test_reductions_over_rows_and_columns(void **state) {
    (void)state;
    cuda_fixture_check(reductions_over_rows_and_columns);
}

static const CudaCall long_reductions_go_in_segments[] = {
    {"cuda.reduce", "ReduceSum", NULL, DTYPE_BIT(DTYPE_FLOAT32), 1600, 1, "T[2,70001] i64[1]=1"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_INTEGER, 0, 1, "T[70001] i64[1]=0"},
    {"cuda.reduce", "ReduceMax", NULL, DTYPE_BIT(DTYPE_FLOAT32), 0, 1, "T[9001,3] i64[1]=0"},
    {"cuda.reduce", "ReduceMean", NULL, DTYPE_BIT(DTYPE_FLOAT32), 160, 1, "T[9001,3] i64[1]=0"},
};

/* Longer than a segment of a block, and of a thread. */
static void test_long_reductions_go_in_segments(void **state) {
    (void)state;
    cuda_fixture_check(long_reductions_go_in_segments);
}

static const CudaCall reductions_of_nothing[] = {
    {"cuda.reduce", "ReduceSum", "{keepdims=0}", DTYPES_NUMBER, 0, 1, "T[0,4] i64[1]=0"},
    {"cuda.reduce", "ReduceMax", "{keepdims=0}", DTYPES_NUMBER, 0, 1, "T[0,4] i64[1]=0"},
    {"cuda.reduce", "ReduceMin", "{keepdims=0}", DTYPES_NUMBER, 0, 1, "T[0,4] i64[1]=0"},
    {"cuda.reduce", "ReduceProd", "{keepdims=0}", DTYPES_NUMBER, 0, 1, "T[0,4] i64[1]=0"},
    {"cuda.reduce", "ReduceSum", NULL, DTYPES_NUMBER, 0, 1, "T[0,4] i64[1]=1"},
    {"cuda.reduce", "ReduceSum", "{noop_with_empty_axes=1}", DTYPES_NUMBER, 0, 1, "T[3,4] i64[0]"},
};

static void test_reductions_of_nothing(void **state) {
    (void)state;
    cuda_fixture_check(reductions_of_nothing);
}

int test_cuda_reduce(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions_over_rows_and_columns),
        cmocka_unit_test(test_long_reductions_go_in_segments),
        cmocka_unit_test(test_reductions_of_nothing),
    };
    return cmocka_run_group_tests_name("cuda_reduce", tests, NULL, NULL);
}
