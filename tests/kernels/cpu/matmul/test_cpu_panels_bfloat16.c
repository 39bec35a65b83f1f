#include "kernels/cpu/matmul/cpu_panels_bfloat16.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/matmul_fixture.h"

enum { K = 131, N = 192, ROWS = 9 };

/* What a number of so many bits is in float32: some positive, some negative, all exact. */
static uint16_t half_at(int64_t column, int64_t k) {
    return (uint16_t)(0x3c00 + (column * 37 + k * 11) % 700 + ((column + k) % 2 << 15));
}

static float wide_at(int64_t column, int64_t k) {
    const uint32_t word = (uint32_t)half_at(column, k) << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint16_t *make_packed(void) {
    uint16_t *plain = malloc(sizeof(uint16_t) * K * N), *packed = malloc(sizeof(uint16_t) * K * N);
    assert_true(plain && packed);
    for (int64_t n = 0; n < N; n++)
        for (int64_t k = 0; k < K; k++) plain[n * K + k] = half_at(n, k);
    cpu_panels_bfloat16_pack(plain, K, N, packed);
    free(plain);
    return packed;
}

static float *make_wide(const CpuMatmulCode *code) {
    float *plain = malloc(sizeof(float) * K * N), *packed = malloc(sizeof(float) * K * N);
    assert_true(plain && packed);
    for (int64_t n = 0; n < N; n++)
        for (int64_t k = 0; k < K; k++) plain[n * K + k] = wide_at(n, k);
    cpu_matmul_pack(code, plain, 1, K, K, N, packed);
    free(plain);
    return packed;
}

static void test_panels_bfloat16_are_a_vector_of_words_for_two_of_columns(void **state) {
    (void)state;
    uint16_t *packed = make_packed();
    for (int64_t n = 0; n < N; n++)
        for (int64_t k = 0; k < K; k++) {
            const int64_t in_panel = n % 64, group = in_panel / 32, half = in_panel % 32 / 16;
            const int64_t at = n / 64 * K * 64 + k * 64 + group * 32 + in_panel % 16 * 2 + half;
            assert_int_equal(packed[at], half_at(n, k));
        }
    free(packed);
}

static void test_panels_bfloat16_widen_to_the_panels_of_a_level(void **state) {
    (void)state;
    uint16_t *packed = make_packed();
    const CpuLevel most = ((CpuDevice *)kernel_cpu_device())->level;
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= most; level++) {
        const CpuMatmulCode code = cpu_matmul_code_for(level);
        float *expected = make_wide(&code), *widened = malloc(sizeof(float) * K * N);
        assert_non_null(widened);
        cpu_panels_bfloat16_widen(&code, level, packed, K, N, widened);
        assert_memory_equal(widened, expected, sizeof(float) * K * N);
        free(expected);
        free(widened);
    }
    free(packed);
}

/* One panel at a time and two, one row and several. */
static void test_panels_bfloat16_multiply_like_float32(void **state) {
    (void)state;
    uint16_t *packed = make_packed();
    float *a = kernel_random_floats(1, ROWS * K), c[ROWS * N], expected[ROWS * N];
    const CpuLevel most = ((CpuDevice *)kernel_cpu_device())->level;
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= most; level++)
        for (int64_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
            CpuMatmul matmul = matmul_fixture_make(rows, N, K);
            matmul.b_packed = true;
            cpu_matmul_prepare(&matmul, level);
            float *wide = make_wide(&matmul.code);
            const CpuMatmulBuffers buffers = {.a = a, .b = wide, .c = expected};
            for (int64_t panel = 0; panel < 3; panel++)
                cpu_matmul_run_panel(&matmul, &buffers, panel, false);
            for (int first = 0; first < 3; first++)
                for (int backwards = 0; backwards < 2; backwards++) {
                    const CpuBfloat16Panels before = {packed, 0, first, backwards == 1};
                    const CpuBfloat16Panels rest = {packed, first, 3 - first, backwards == 1};
                    memset(c, 0xee, sizeof c);
                    cpu_panels_bfloat16_run(&matmul, level, a, &before, c);
                    cpu_panels_bfloat16_run(&matmul, level, a, &rest, c);
                    assert_memory_equal(c, expected, sizeof(float) * (size_t)(rows * N));
                }
            free(wide);
        }
    free(packed);
    free(a);
}

int test_cpu_panels_bfloat16(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_panels_bfloat16_are_a_vector_of_words_for_two_of_columns),
        cmocka_unit_test(test_panels_bfloat16_widen_to_the_panels_of_a_level),
        cmocka_unit_test(test_panels_bfloat16_multiply_like_float32),
    };
    return cmocka_run_group_tests_name("cpu_panels_bfloat16", tests, NULL, NULL);
}
