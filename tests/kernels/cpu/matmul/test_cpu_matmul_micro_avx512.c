#include <string.h>

#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/matmul_micro_check.h"

static void test_avx512_tiles_are_chains_of_fused_multiply_adds(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX512) skip();
    matmul_micro_check(cpu_matmul_micro_avx512, false);
}

static void test_avx512_tiles_finish_their_sums(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX512) skip();
    matmul_micro_check_finish(cpu_matmul_micro_avx512);
}

/* One panel or two, fetched ahead or not: the bits of tiles of one row. */
static void test_avx512_rows_are_as_tiles_of_one_row(void **state) {
    enum { DEPTH = 37, A_COLUMN = 3, N = CPU_MATMUL_PANEL };
    static float a[DEPTH * A_COLUMN], b[2 * DEPTH * N], expected[2 * N], out[2 * N];
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX512) skip();
    for (int i = 0; i < DEPTH * A_COLUMN; i++) a[i] = (float)(i % 11) / 7 - 0.5f;
    for (int i = 0; i < 2 * DEPTH * N; i++) b[i] = (float)(i % 13) / 9 - 0.7f;
    for (int p = 0; p < 2; p++) {
        const CpuMatmulTile tile = {.rows = 1,
            .columns = N,
            .depth = DEPTH,
            .a = a,
            .a_column = A_COLUMN,
            .b = b + p * DEPTH * N,
            .b_row = N,
            .b_strip = CPU_MATMUL_STRIP,
            .out = expected + p * N,
            .out_row = N};
        cpu_matmul_micro_avx512(&tile);
    }
    for (int count = 1; count <= 2; count++)
        for (int near = 0; near < 2; near++) {
            const CpuRowPanels panels = {.count = count, .near = near, .out = out};
            memset(out, 0xee, sizeof out);
            cpu_matmul_row_avx512(a, A_COLUMN, b, DEPTH, &panels);
            assert_memory_equal(out, expected, (size_t)count * N * sizeof(float));
            for (int i = count * N; i < 2 * N; i++)
                assert_int_equal(((const uint32_t *)(const void *)out)[i], 0xeeeeeeee);
        }
}

int test_cpu_matmul_micro_avx512(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_avx512_tiles_are_chains_of_fused_multiply_adds),
        cmocka_unit_test(test_avx512_tiles_finish_their_sums),
        cmocka_unit_test(test_avx512_rows_are_as_tiles_of_one_row),
    };
    return cmocka_run_group_tests_name("cpu_matmul_micro_avx512", tests, NULL, NULL);
}
