#include "kernels/cpu/normalization/cpu_softmax_block.h"

#include <stdlib.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/scalar/scalar_exponential.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { ROW_MAX = 67, LANES = 16 };

/* cpu_f32x16_exp of one lane. */
static float exp_of(float x) {
    const float rounder = 12582912.0f + 127.0f, shifted = x * 1.44269504f + rounder;
    const float n = shifted - rounder, r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.38592592e-3f * r + 8.37480556e-3f;
    p = p * r + 4.16677259e-2f;
    p = p * r + 1.66664198e-1f;
    p = p * r + 0.49999994f;
    p = p * r + 1.0f;
    if (x < -87.33f) return 0;
    return (p * r + 1.0f) * scalar_make_f32(scalar_bits_f32(shifted) << 23);
}

/* cpu_f32x16_sum. */
static float lanes_sum(float *lanes) {
    for (int half = LANES / 2; half > 2; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/* One row or column with `step` floats between its elements. A row's terms are added in 16 lanes,
 * a column's in order. */
static void define(
    const float *x, int64_t size, int64_t step, bool in_lanes, bool logarithm, float *y) {
    float most = x[0], lanes[LANES] = {0}, sum = 0;
    for (int64_t i = 0; i < size; i++) most = x[i * step] > most ? x[i * step] : most;
    for (int64_t i = 0; i < size; i++) {
        lanes[i % LANES] += exp_of(x[i * step] - most);
        sum += exp_of(x[i * step] - most);
    }
    if (in_lanes) sum = lanes_sum(lanes);
    const float scale = 1.0f / sum, log_sum = scalar_log_f32(sum);
    for (int64_t i = 0; i < size; i++)
        y[i * step] = logarithm ? x[i * step] - most - log_sum : exp_of(x[i * step] - most) * scale;
}

/* What lies beside the block stays. */
static void check_block(
    CpuLevel level, CpuSoftmaxForm form, bool logarithm, int64_t size, int64_t count) {
    enum { INNER = 19 };
    static float expected[ROW_MAX * INNER], y[ROW_MAX * INNER];
    float *x = kernel_random_floats((uint64_t)size, ROW_MAX * INNER);
    for (int64_t i = 0; i < ROW_MAX * INNER; i++) x[i] *= 20, expected[i] = y[i] = 7;
    const bool columns = form == CPU_SOFTMAX_COLUMNS;
    for (int64_t i = 0; i < count; i++)
        if (columns)
            define(x + i, size, INNER, false, logarithm, expected + i);
        else
            define(x + i * size, size, 1, true, logarithm, expected + i * size);
    CpuSoftmaxBlock *block = cpu_softmax_block_for(level, form, logarithm);
    block(x, size, INNER, count, y);
    assert_memory_equal(y, expected, sizeof y);
    block(x, size, INNER, count, x); /* in place */
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < size; k++) {
            const int64_t at = columns ? k * INNER + i : i * size + k;
            assert_memory_equal(&x[at], &expected[at], sizeof *x);
        }
    free(x);
}

/* Every level has the bits of the definition, for each end of a row and each number of columns. */
static void test_softmax_blocks_have_the_bits_of_the_definition_at_every_level(void **state) {
    (void)state;
    const CpuLevel most = ((CpuDevice *)kernel_cpu_device())->level;
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= most; level++)
        for (int logarithm = 0; logarithm < 2; logarithm++) {
            for (int64_t size = 1; size <= ROW_MAX; size++)
                check_block(level, CPU_SOFTMAX_ROW, logarithm, size, 1);
            for (int64_t count = 1; count <= LANES; count++) {
                check_block(level, CPU_SOFTMAX_COLUMNS, logarithm, 5 + count, count);
                for (int64_t size = 1; size < LANES; size += 3)
                    check_block(level, CPU_SOFTMAX_SHORT_ROWS, logarithm, size, count);
            }
        }
}

int test_cpu_softmax_block(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_blocks_have_the_bits_of_the_definition_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_softmax_block", tests, NULL, NULL);
}
