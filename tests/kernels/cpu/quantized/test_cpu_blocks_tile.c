#include "kernels/cpu/quantized/cpu_blocks_tile.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/elementwise/cpu_small.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/support/test_random.h"

enum { DEPTH = 40, PADDED = 48 };

static bool has_level(CpuLevel level) { return level <= cpu_device(kernel_cpu_device())->level; }

/* Every level widens codes to what they are one by one, and 0 after the last. */
static void test_codes_of_any_bits_become_floats(void **state) {
    static const DType types[] = {
        DTYPE_INT2, DTYPE_UINT2, DTYPE_INT4, DTYPE_UINT4, DTYPE_INT8, DTYPE_UINT8};
    static const float scales[3] = {0.5F, -2, 3};
    static const uint8_t zeros[3] = {0x31, 0x02, 0x01};
    uint8_t codes[DEPTH];
    uint64_t seed = 3;
    (void)state;
    for (int i = 0; i < DEPTH; i++) codes[i] = (uint8_t)test_random(&seed);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int level = CPU_LEVEL_PORTABLE; level <= CPU_LEVEL_AVX512; level++) {
            CpuWiden one;
            float made[PADDED];
            if (!has_level((CpuLevel)level)) continue;
            cpu_widen_init(types[i], &one);
            CpuBlocks blocks = {
                .columns = 1,
                .depth = DEPTH,
                .block = 16,
                .blocks = 3,
                .bits = dtype_bits(types[i]),
                .is_signed = i % 2 == 0,
                .has_zeros = true,
                .codes = codes,
                .zeros = zeros,
                .scales = scales,
            };
            cpu_blocks_init_values(&blocks);
            cpu_blocks_widen_for((CpuLevel)level, blocks.bits)(&blocks, 0, 0, DEPTH, made);
            for (uint64_t k = 0; k < DEPTH; k++)
                assert_true(made[k] ==
                            (cpu_widen_one(&one, codes, k) - cpu_widen_one(&one, zeros, k / 16)) *
                                scales[k / 16]);
            for (int k = DEPTH; k < PADDED; k++) assert_true(made[k] == 0);
        }
}

/* Sums that go on where they were, at every level the same. */
static void test_tiles_of_any_size_have_the_same_bits(void **state) {
    enum { ROWS = 7, COLUMNS = 11, SUMS = ROWS * COLUMNS };
    static float wanted[SUMS], made[SUMS], sums[SUMS * CPU_BLOCKS_LANES];
    float *a = kernel_random_floats(1, ROWS * PADDED);
    float *weights = kernel_random_floats(2, COLUMNS * PADDED);
    (void)state;
    for (int64_t rows = 1; rows <= ROWS; rows++)
        for (int64_t columns = 1; columns <= COLUMNS; columns++)
            for (int level = CPU_LEVEL_PORTABLE; level <= CPU_LEVEL_AVX512; level++) {
                float *to = level == CPU_LEVEL_PORTABLE ? wanted : made;
                CpuBlocksTile tile = {a, weights, PADDED, PADDED, rows, columns, 16, sums, COLUMNS,
                    .out = to, .out_row = columns};
                if (!has_level((CpuLevel)level)) continue;
                memset(to, 0, SUMS * sizeof *to);
                cpu_blocks_product_for((CpuLevel)level)(&tile);
                tile.a += 16, tile.weights += 16, tile.depth = PADDED - 16;
                tile.accumulate = tile.is_last = true;
                cpu_blocks_product_for((CpuLevel)level)(&tile);
                if (to == made) assert_memory_equal(made, wanted, sizeof made);
            }
    free(a);
    free(weights);
}

int test_cpu_blocks_tile(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes_of_any_bits_become_floats),
        cmocka_unit_test(test_tiles_of_any_size_have_the_same_bits),
    };
    return cmocka_run_group_tests_name("cpu_blocks_tile", tests, NULL, NULL);
}
