#include <string.h>

#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "tests/support/test_support.h"

/* Depth 3, 70 columns: a panel of 64 and one of 6, which is stored 16 wide. */
static void check_packing(CpuLevel level) {
    enum { K = 3, N = 70 };
    const CpuMatmulCode code = cpu_matmul_code_for(level);
    assert_true(code.in_strips == (level != CPU_LEVEL_AVX512));
    float b[K * N], packed[K * 80];
    for (int i = 0; i < K * N; i++) b[i] = (float)(i + 1);
    assert_int_equal(cpu_matmul_packed_count(K, N), K * 80);
    for (int transposed = 0; transposed < 2; transposed++) {
        memset(packed, 0xee, sizeof packed);
        cpu_matmul_pack(&code, b, transposed ? 1 : N, transposed ? K : 1, K, N, packed);
        for (int k = 0; k < K; k++)
            for (int j = 0; j < 80; j++) {
                const float expected = j < N ? b[transposed ? j * K + k : k * N + j] : 0;
                const int in_panel =
                    code.in_strips ? j / 16 * K * 16 + k * 16 + j % 16 : k * 64 + j;
                const int at = j < 64 ? in_panel : K * 64 + k * 16 + j - 64;
                assert_true(packed[at] == expected);
            }
    }
}

static void test_matmul_pack_panel_fills_up_with_zeros(void **state) {
    (void)state;
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= CPU_LEVEL_AVX512; level++)
        check_packing(level);
}

int test_cpu_matmul_pack(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_pack_panel_fills_up_with_zeros),
    };
    return cmocka_run_group_tests_name("cpu_matmul_pack", tests, NULL, NULL);
}
