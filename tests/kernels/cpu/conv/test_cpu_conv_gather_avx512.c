#include "tests/kernels/fixtures/gather_check.h"

static void test_gather_with_masks_puts_zeros_where_the_row_ends(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX512) skip();
    gather_check(cpu_conv_gather_avx512);
}

int test_cpu_conv_gather_avx512(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_with_masks_puts_zeros_where_the_row_ends),
    };
    return cmocka_run_group_tests_name("cpu_conv_gather_avx512", tests, NULL, NULL);
}
