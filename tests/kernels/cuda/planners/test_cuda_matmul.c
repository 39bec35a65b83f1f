#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall products_of_every_shape[] = {
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT, 500, 1, "T[64,64] T[64,128]"},
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT, 500, 1, "T[67,19] T[19,70]"},
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT, 500, 1, "T[3,33] T[33,70]"},
    {"cuda.matmul", "FusedMatMul", "{transB=1}", DTYPES_FLOAT, 500, 1, "T[8,33] T[70,33] T[70]"},
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT, 500, 1, "T[33] T[33,5]"},
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT, 500, 1, "T[5,33] T[33]"},
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT, 500, 1, "T[2,1,5,7] T[3,7,4]"},
    {"cuda.matmul", "MatMul", NULL, DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_UINT64),
        0, 1, "T[3,0] T[0,4]"},
    {"cuda.matmul", "MatMul", NULL, DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_UINT64), 0, 1,
        "T[67,19] T[19,70]"},
    {"cuda.matmul", "Gemm", "{alpha=3.0, beta=-2.0}",
        DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_UINT64), 0, 1, "T[7,9] T[9,5] T[5]"},
};

/* Tiles that are whole and cut, vectors, batches that broadcast, no depth at all. */
static void test_products_of_every_shape(void **state) {
    (void)state;
    cuda_fixture_check(products_of_every_shape);
}

static const CudaCall products_with_what_is_fused_to_them[] = {
    {"cuda.matmul", "Gemm", "{alpha=0.5, beta=0.25, transA=1, transB=1}", DTYPES_FLOAT, 500, 1,
        "T[19,67] T[70,19] T[67,1]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}", DTYPES_FLOAT,
        500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"relu\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"leaky_relu\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"swish\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"mish\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"clip\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"tanh\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"sigmoid\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"hard_swish\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"gelu_erf\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul",
        "{activation=\"gelu_tanh\", activation_alpha=0.25, activation_beta=2.0, alpha=0.5}",
        DTYPES_FLOAT, 500, 1, "T[2,9,17] T[17,20] T[20] T[2,9,20]"},
    {"cuda.matmul", "FusedMatMul", "{transA=1, transB=1}", DTYPES_FLOAT, 500, 1,
        "T[2,17,9] T[2,20,17]"},
};

static void test_products_with_what_is_fused_to_them(void **state) {
    (void)state;
    cuda_fixture_check(products_with_what_is_fused_to_them);
}

int test_cuda_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_shape),
        cmocka_unit_test(test_products_with_what_is_fused_to_them),
    };
    return cmocka_run_group_tests_name("cuda_matmul", tests, NULL, NULL);
}
