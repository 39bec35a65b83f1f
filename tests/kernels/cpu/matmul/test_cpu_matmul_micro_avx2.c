#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/matmul_micro_check.h"

static void test_avx2_tiles_are_chains_of_fused_multiply_adds(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX2) skip();
    matmul_micro_check(cpu_matmul_micro_avx2, true);
}

static void test_avx2_tiles_finish_their_sums(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX2) skip();
    matmul_micro_check_finish(cpu_matmul_micro_avx2);
}

int test_cpu_matmul_micro_avx2(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_avx2_tiles_are_chains_of_fused_multiply_adds),
        cmocka_unit_test(test_avx2_tiles_finish_their_sums),
    };
    return cmocka_run_group_tests_name("cpu_matmul_micro_avx2", tests, NULL, NULL);
}
