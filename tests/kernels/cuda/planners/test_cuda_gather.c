#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall gathers_of_every_kind[] = {
    {"cuda.gather", "Gather", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[9,64] i64[4]=0,8,-9,3"},
    {"cuda.gather", "Gather", "{axis=1}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,9,5] i32[2,2]=0,8,-9,3"},
    {"cuda.gather", "Gather", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[9,0] i64[2]=0,80"},
    {"cuda.gather_elements", "GatherElements", "{axis=1}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,4] i64[3,2]=0,1,-1,3,2,2"},
    {"cuda.gather_nd", "GatherND", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,3,8] i64[2,2]=0,1,-1,2"},
    {"cuda.gather_nd", "GatherND", "{batch_dims=1}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,3,4] i64[2,1]=1,-1"},
};

/* Slices that travel in units of 16 bytes and odd ones. */
static void test_gathers_of_every_kind(void **state) {
    (void)state;
    cuda_fixture_check(gathers_of_every_kind);
}

int test_cuda_gather(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gathers_of_every_kind),
    };
    return cmocka_run_group_tests_name("cuda_gather", tests, NULL, NULL);
}
