#include "kernels/cpu/quantized/cpu_blocks_tile.h"

#include <stdlib.h>

#include "kernels/cpu/core/cpu_vector.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/support/test_random.h"

enum { DEPTH = 112, COLUMNS = 19, BLOCK = 32, BLOCKS = 4 };

/* A few rows have the bits of the portable tile, for codes of every size and sign. */
static void check(CpuLevel level, uint32_t bits, bool is_signed, bool has_zeros) {
    uint8_t codes[COLUMNS * DEPTH], zeros[COLUMNS * BLOCKS];
    uint64_t seed = bits;
    float *a = kernel_random_floats(1, CPU_BLOCKS_ROWS * DEPTH), ordered[CPU_BLOCKS_ROWS * DEPTH];
    float *scales = kernel_random_floats(2, COLUMNS * BLOCKS);
    float weights[COLUMNS * DEPTH], sums[CPU_BLOCKS_ROWS * COLUMNS * CPU_BLOCKS_LANES];
    for (size_t i = 0; i < sizeof codes; i++) codes[i] = (uint8_t)test_random(&seed);
    for (size_t i = 0; i < sizeof zeros; i++) zeros[i] = (uint8_t)test_random(&seed);
    CpuBlocks blocks = {.columns = COLUMNS,
        .depth = DEPTH,
        .block = BLOCK,
        .blocks = BLOCKS,
        .bits = bits,
        .is_signed = is_signed,
        .has_zeros = has_zeros,
        .codes = codes,
        .zeros = zeros,
        .scales = scales};
    cpu_blocks_init_values(&blocks);
    for (int64_t i = 0; i < COLUMNS; i++)
        cpu_blocks_widen_plain(&blocks, i, 0, DEPTH, weights + i * DEPTH);
    float floats[COLUMNS * BLOCKS + CPU_BLOCKS_LANES];
    cpu_blocks_zeros(&blocks, cpu_blocks_widen_for(level, bits), 0, COLUMNS, floats);
    for (int64_t rows = 1; rows <= CPU_BLOCKS_ROWS; rows++) {
        float wanted[CPU_BLOCKS_ROWS * COLUMNS], made[CPU_BLOCKS_ROWS * COLUMNS];
        const CpuBlocksTile tile = {a, weights, DEPTH, DEPTH, rows, COLUMNS, DEPTH, sums, COLUMNS,
            .out = wanted, .out_row = COLUMNS, .is_last = true};
        cpu_blocks_product_for(CPU_LEVEL_PORTABLE)(&tile);
        for (int64_t i = 0; i < rows; i++)
            cpu_blocks_order_rows(bits, a + i * DEPTH, DEPTH, ordered + i * DEPTH);
        const CpuBlocksRows run = {
            &blocks, ordered, rows, 0, COLUMNS, made, has_zeros ? floats : NULL};
        cpu_blocks_rows_for(level, bits, is_signed)(&run);
        assert_memory_equal(made, wanted, (size_t)(rows * COLUMNS) * sizeof *made);
    }
    free(a);
    free(scales);
}

static void test_few_rows_have_the_bits_of_a_tile(void **state) {
    (void)state;
    assert_null(cpu_blocks_rows_for(CPU_LEVEL_PORTABLE, 4, true));
    for (int level = CPU_LEVEL_AVX2; level <= CPU_LEVEL_AVX512; level++)
        for (uint32_t bits = 2; bits <= 8; bits *= 2)
            for (int i = 0; i < 4; i++)
                if ((CpuLevel)level <= cpu_device(kernel_cpu_device())->level)
                    check((CpuLevel)level, bits, i & 1, i & 2);
}

int test_cpu_blocks_rows(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_rows_have_the_bits_of_a_tile),
    };
    return cmocka_run_group_tests_name("cpu_blocks_rows", tests, NULL, NULL);
}
