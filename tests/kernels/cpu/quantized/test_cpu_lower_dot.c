#include "kernels/cpu/quantized/cpu_lower_product.h"
#include "kernels/tensor/dtype_scalar.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/support/test_random.h"

/* test_cpu_lower_product.c has the sums of all forms. */

static bool has_bfloat16(void) { return cpu_device(kernel_cpu_device())->has_bfloat16; }

/* Where sums are rounded the order shows: every form has the same, row by row and in blocks. */
static void test_bfloat16_has_the_same_bits_with_and_without_its_instructions(void **state) {
    (void)state;
    if (!has_bfloat16()) skip();
    enum { ROWS = 7, PAIRS = 100 };
    uint64_t seed = 3;
    float rows[ROWS * PAIRS * 2], sums[2][ROWS * CPU_LOWER_COLUMNS];
    uint16_t dot_rows[ROWS * PAIRS * 2], panel[PAIRS * 2 * CPU_LOWER_PANEL];
    for (int i = 0; i < ROWS * PAIRS * 2; i++) {
        dot_rows[i] = dtype_scalar_bfloat16((double)(test_random(&seed) % 2000001) / 1e6 - 1);
        rows[i] = (float)dtype_scalar_from_bfloat16(dot_rows[i]);
    }
    for (int i = 0; i < PAIRS * 2 * CPU_LOWER_PANEL; i++)
        panel[i] = dtype_scalar_bfloat16((double)(test_random(&seed) % 2000001) / 1e6 - 1);
    for (int rows_at_once = 1; rows_at_once <= ROWS; rows_at_once += ROWS - 1) {
        CpuLowerTile tile = {.rows = rows_at_once, .groups = PAIRS, .panels = 1, .b = panel};
        tile.a = rows, tile.a_row = PAIRS * 2 * 4, tile.out = sums[0];
        cpu_lower_product_for(CPU_LEVEL_AVX2, CPU_LOWER_BFLOAT16)(&tile);
        tile.a = dot_rows, tile.a_row = PAIRS * 2 * 2, tile.out = sums[1];
        cpu_lower_product_for(CPU_LEVEL_AVX512, CPU_LOWER_BFLOAT16_DOT)(&tile);
        for (int r = 0; r < rows_at_once; r++)
            assert_memory_equal(sums[0] + r * CPU_LOWER_COLUMNS, sums[1] + r * CPU_LOWER_COLUMNS,
                CPU_LOWER_PANEL * sizeof(float));
    }
}

static void test_bfloat16_takes_denormal_numbers_for_zero(void **state) {
    (void)state;
    if (!has_bfloat16()) skip();
    const uint16_t one = dtype_scalar_bfloat16(1), least = 1; /* 2^-133 */
    const uint16_t rows[2] = {least, one};
    uint16_t panel[2 * CPU_LOWER_PANEL];
    float sums[CPU_LOWER_COLUMNS];
    const CpuLowerTile tile = {
        .rows = 1, .groups = 1, .panels = 1, .a = rows, .a_row = 4, .b = panel, .out = sums};
    for (int c = 0; c < CPU_LOWER_PANEL; c++) {
        panel[2 * c] = one;
        panel[2 * c + 1] = c % 2 ? one : least;
    }
    cpu_lower_product_for(CPU_LEVEL_AVX512, CPU_LOWER_BFLOAT16_DOT)(&tile);
    for (int c = 0; c < CPU_LOWER_PANEL; c++) assert_true(sums[c] == (c % 2 ? 1.0F : 0.0F));
}

int test_cpu_lower_dot(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bfloat16_has_the_same_bits_with_and_without_its_instructions),
        cmocka_unit_test(test_bfloat16_takes_denormal_numbers_for_zero),
    };
    return cmocka_run_group_tests_name("cpu_lower_dot", tests, NULL, NULL);
}
