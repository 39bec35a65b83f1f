#include "kernels/cpu/cpu_matmul_kernel.h"

#include <stdlib.h>

#include "tests/kernels/kernel_call.h"

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
        for (int panel = 0; panel < 2; panel++)
            cpu_matmul_pack_panel(
                &code, b, transposed ? 1 : N, transposed ? K : 1, K, N, panel, packed);
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

/* A launch that is told to stop does so between tiles and says it. */
static void test_matmul_run_is_abandoned_when_asked(void **state) {
    (void)state;
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {0};
    CpuMatmul matmul = {.rows = 2,
        .columns = 2,
        .depth = 2,
        .a_row = 2,
        .a_column = 1,
        .b_row = 2,
        .b_column = 1,
        .batch_count = 1,
        .epilogue = {.alpha = 1, .bias_scale = 1}};
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    cpu_matmul_prepare(&matmul, device->level);
    const CpuMatmulBuffers buffers = {.a = a, .b = b, .c = c};
    atomic_bool abandon = true;
    const Launch launch = {.threads = 1, .abandon = &abandon};
    bool abandoned = false;
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
    assert_true(abandoned);
    assert_true(c[0] == 0);
    atomic_store(&abandon, false);
    abandoned = false;
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
    assert_false(abandoned);
    assert_memory_equal(c, a, sizeof a);
}

/* Column by column reading gives the bits of reading by rows: packing happens in the workspace. */
static void test_matmul_packs_columns_that_are_not_adjacent(void **state) {
    (void)state;
    enum { M = 7, N = 90, K = 33 };
    float *a = kernel_random_floats(1, M * K), *b = kernel_random_floats(2, K * N);
    float transposed[K * N], c[2][M * N];
    for (int i = 0; i < K * N; i++) transposed[i % N * K + i / N] = b[i];
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    const Launch launch = {.threads = 3};
    for (int i = 0; i < 2; i++) {
        CpuMatmul matmul = {.rows = M,
            .columns = N,
            .depth = K,
            .a_row = K,
            .a_column = 1,
            .b_row = i ? 1 : N,
            .b_column = i ? K : 1,
            .batch_count = 1,
            .epilogue = {.alpha = 1, .bias_scale = 1}};
        cpu_matmul_prepare(&matmul, device->level);
        assert_int_equal(cpu_matmul_scratch_count(&matmul), i ? K * 96 : 0);
        float *scratch = malloc((size_t)cpu_matmul_scratch_count(&matmul) * sizeof(float) + 4);
        const CpuMatmulBuffers buffers = {
            .a = a, .b = i ? transposed : b, .c = c[i], .scratch = scratch};
        bool abandoned = false;
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
        free(scratch);
    }
    assert_memory_equal(c[0], c[1], sizeof c[0]);
    free(a);
    free(b);
}

/* A row's bits do not depend on the other rows of the batch, nor on B's panels, on
 * threads and on the order of panels. */
static void test_matmul_gives_a_row_the_same_bits_in_any_batch(void **state) {
    (void)state;
    enum { M = 130, K = 700, N = 470, PANELS = (N + CPU_MATMUL_PANEL - 1) / CPU_MATMUL_PANEL };
    float *a = kernel_random_floats(3, M * K), *b = kernel_random_floats(4, K * N);
    float *all = malloc(M * N * sizeof(float)), one[N];
    assert_non_null(all);
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    CpuMatmul matmul = {.rows = M,
        .columns = N,
        .depth = K,
        .a_row = K,
        .a_column = 1,
        .b_row = N,
        .b_column = 1,
        .batch_count = 1,
        .epilogue = {.alpha = 1, .bias_scale = 1}};
    cpu_matmul_prepare(&matmul, device->level);
    Launch launch = {.threads = 2};
    bool abandoned = false;
    CpuMatmulBuffers buffers = {.a = a, .b = b, .c = all};
    float *packed = malloc((size_t)cpu_matmul_packed_count(K, N) * sizeof(float));
    assert_non_null(packed);
    for (int panel = 0; panel < PANELS; panel++)
        cpu_matmul_pack_panel(&matmul.code, b, N, 1, K, N, panel, packed);
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
    matmul.rows = 1;
    buffers.c = one;
    for (int row = 0; row < M; row += 43) {
        buffers.a = a + row * K;
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
        assert_memory_equal(one, all + row * N, sizeof one);
    }
    matmul.b_packed = true;
    buffers.b = packed;
    for (int i = 0; i < 6; i++) { /* each count of threads there and back */
        launch.threads = 1 + (uint32_t)i / 2;
        memset(one, 0, sizeof one);
        assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
        assert_memory_equal(one, all + 129 * N, sizeof one);
    }
    float bias[N];
    for (int i = 0; i < N; i++) bias[i] = (float)i;
    matmul.has_bias = true, matmul.bias_column = 1;
    buffers.bias = bias;
    assert_ok(cpu_matmul_run(device, &matmul, &buffers, &launch, &abandoned));
    for (int i = 0; i < N; i++) assert_true(one[i] == all[129 * N + i] + bias[i]);
    free(packed);
    free(all);
    free(a);
    free(b);
}

int test_cpu_matmul_kernel(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_pack_panel_fills_up_with_zeros),
        cmocka_unit_test(test_matmul_run_is_abandoned_when_asked),
        cmocka_unit_test(test_matmul_gives_a_row_the_same_bits_in_any_batch),
        cmocka_unit_test(test_matmul_packs_columns_that_are_not_adjacent),
    };
    return cmocka_run_group_tests_name("cpu_matmul_kernel", tests, NULL, NULL);
}
