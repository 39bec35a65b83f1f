#include "kernels/cpu/quantized/cpu_integer_product.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/loop_fixture.h"
#include "tests/support/test_random.h"

/* Rows × panels over a depth, at every level, against plain sums modulo 2^32. */
static void check(int64_t rows, int64_t panels, int64_t pairs, int16_t most) {
    const int64_t columns = panels * CPU_INTEGER_PANEL, b_panel = pairs * 2 * CPU_INTEGER_PANEL;
    int16_t *a = calloc((size_t)(rows * pairs * 2) + 1, sizeof *a);
    int16_t *b = calloc((size_t)(panels * b_panel) + 1, sizeof *b);
    int32_t *out = calloc((size_t)(rows * columns), sizeof *out);
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    uint64_t seed = 5;
    assert_true(a && b && out);
    for (int64_t i = 0; i < rows * pairs * 2; i++)
        a[i] = (int16_t)((int64_t)(test_random(&seed) % (2 * (uint64_t)most + 1)) - most);
    for (int64_t i = 0; i < panels * b_panel; i++)
        b[i] = (int16_t)((int64_t)(test_random(&seed) % (2 * (uint64_t)most + 1)) - most);
    for (uint32_t l = 0; l < level_count; l++) {
        const CpuIntegerTile tile = {rows, pairs, panels, a, pairs * 2, b, b_panel, out, columns};
        memset(out, 0x55, (size_t)(rows * columns) * sizeof *out);
        cpu_integer_product_for(levels[l])(&tile);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++) {
                const int16_t *column = b + c / CPU_INTEGER_PANEL * b_panel;
                uint32_t sum = 0;
                for (int64_t k = 0; k < pairs * 2; k++)
                    sum += (uint32_t)(a[r * pairs * 2 + k] *
                                      column[k / 2 * 2 * CPU_INTEGER_PANEL +
                                             c % CPU_INTEGER_PANEL * 2 + k % 2]);
                assert_int_equal((uint32_t)out[r * columns + c], sum);
            }
    }
    free(a);
    free(b);
    free(out);
}

static void test_products_are_exact_at_every_level(void **state) {
    (void)state;
    for (int64_t rows = 1; rows < 20; rows += rows < 5 ? 1 : 4)
        for (int64_t panels = 1; panels < 5; panels++) check(rows, panels, 7, 255);
    check(CPU_INTEGER_ROWS, CPU_INTEGER_COLUMNS / CPU_INTEGER_PANEL, 300, 255);
}

static void test_nothing_to_sum_is_zero(void **state) {
    (void)state;
    check(9, 3, 0, 1);
}

/* 2^31 / 255^2 = 33026 products fit; more wrap. */
static void test_sums_wrap(void **state) {
    enum { PAIRS = 40000 };
    int16_t *a = calloc(PAIRS * 2, sizeof *a), *b = calloc(PAIRS * 2 * 16, sizeof *b);
    int32_t out[16];
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    (void)state;
    assert_true(a && b);
    for (int64_t i = 0; i < PAIRS * 2; i++) a[i] = 255;
    for (int64_t i = 0; i < PAIRS * 2 * 16; i++) b[i] = 255;
    for (uint32_t l = 0; l < level_count; l++) {
        const CpuIntegerTile tile = {1, PAIRS, 1, a, PAIRS * 2, b, 0, out, 16};
        cpu_integer_product_for(levels[l])(&tile);
        assert_int_equal((uint32_t)out[15], (uint32_t)((uint64_t)PAIRS * 2 * 255 * 255));
    }
    free(a);
    free(b);
}

int test_cpu_integer_product(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_are_exact_at_every_level),
        cmocka_unit_test(test_nothing_to_sum_is_zero),
        cmocka_unit_test(test_sums_wrap),
    };
    return cmocka_run_group_tests_name("cpu_integer_product", tests, NULL, NULL);
}
