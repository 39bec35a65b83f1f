#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall scatters_in_the_order_of_the_indices[] = {
    {"cuda.scatter_elements", "ScatterElements", "{axis=1}", DTYPES_NUMBER, 0, 1,
        "T[3,4] i64[3,3]=0,1,1,1,2,2,-1,3,3 T[3,3]"},
    {"cuda.scatter_elements", "ScatterElements", "{axis=1, reduction=\"add\"}", DTYPES_NUMBER, 0, 1,
        "T[3,4] i64[3,3]=0,1,1,1,2,2,-1,3,3 T[3,3]"},
    {"cuda.scatter_elements", "ScatterElements", "{axis=1, reduction=\"mul\"}", DTYPES_NUMBER, 0, 1,
        "T[3,4] i64[3,3]=0,1,1,1,2,2,-1,3,3 T[3,3]"},
    {"cuda.scatter_elements", "ScatterElements", "{axis=1, reduction=\"max\"}", DTYPES_NUMBER, 0, 1,
        "T[3,4] i64[3,3]=0,1,1,1,2,2,-1,3,3 T[3,3]"},
    {"cuda.scatter_elements", "ScatterElements", "{axis=1, reduction=\"min\"}", DTYPES_NUMBER, 0, 1,
        "T[3,4] i64[3,3]=0,1,1,1,2,2,-1,3,3 T[3,3]"},
    {"cuda.scatter_nd", "ScatterND", "{}", DTYPES_NUMBER, 0, 1,
        "T[4,30] i64[4,1]=2,2,-2,0 T[4,30]"},
    {"cuda.scatter_nd", "ScatterND", "{reduction=\"add\"}", DTYPES_NUMBER, 0, 1,
        "T[4,30] i64[4,1]=2,2,-2,0 T[4,30]"},
    {"cuda.scatter_elements", "ScatterElements", NULL, DTYPES_NUMBER, 0, 1,
        "T[5] i32[3]=4,4,0 T[3]"},
};

/* Equal indices: the last wins, sums are added from the first on. */
static void test_scatters_in_the_order_of_the_indices(void **state) {
    (void)state;
    cuda_fixture_check(scatters_in_the_order_of_the_indices);
}

int test_cuda_scatter(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scatters_in_the_order_of_the_indices),
    };
    return cmocka_run_group_tests_name("cuda_scatter", tests, NULL, NULL);
}
