#include <stdlib.h>

#include "kernels/cpu/quantized/cpu_blocks_dot.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { ROWS = 11, COLUMNS = 7, DEPTH = 256, BLOCK = 32, BYTES_MAX = ROWS * 4096 };

/* Rows of the largest bytes of one sign or of both, times codes of one value. */
static void check(uint8_t code, const CpuBlocks *like, const float *rows) {
    static uint8_t codes[COLUMNS * DEPTH], zeros[COLUMNS * DEPTH / BLOCK], a[BYTES_MAX];
    float scales[COLUMNS * DEPTH / BLOCK], floats[COLUMNS * DEPTH / BLOCK + 2 * CPU_BLOCKS_LANES];
    float wanted[ROWS * COLUMNS], made[ROWS * COLUMNS];
    CpuBlocks blocks = *like;
    blocks.codes = codes, blocks.zeros = zeros, blocks.scales = scales;
    for (int i = 0; i < COLUMNS * DEPTH / BLOCK; i++) scales[i] = 1;
    memset(codes, code, sizeof codes);
    memset(zeros, ~code, sizeof zeros);
    cpu_blocks_init_values(&blocks);
    cpu_blocks_zeros(&blocks, cpu_blocks_widen_plain, 0, COLUMNS, floats);
    const CpuBlocksDot dot = cpu_blocks_dot_of(&blocks);
    for (int64_t i = 0; i < ROWS; i++)
        cpu_blocks_quantize_for(CPU_LEVEL_PORTABLE)(
            &blocks, &dot, rows + i * DEPTH, a + i * dot.chunks * dot.chunk_bytes);
    CpuDevice portable = *cpu_device(kernel_cpu_device());
    portable.level = CPU_LEVEL_PORTABLE;
    portable.has_vnni = false;
    CpuBlocksDotRows run = {
        &blocks, &dot, a, ROWS, 0, COLUMNS, wanted, blocks.has_zeros ? floats : NULL};
    cpu_blocks_dot_for(&portable, &blocks)(&run);
    run.out = made;
    cpu_blocks_dot_avx2 (&blocks)(&run);
    assert_memory_equal(made, wanted, sizeof made);
}

/* No sum of two products saturates, for codes of every size and sign. */
static void test_products_of_the_largest_bytes_do_not_saturate(void **state) {
    static const uint8_t codes[] = {0x00, 0x80, 0x7f, 0xff, 0x88, 0x77, 0xaa, 0x55, 0x81};
    float rows[ROWS * DEPTH];
    (void)state;
    if (cpu_device(kernel_cpu_device())->level < CPU_LEVEL_AVX2) skip();
    for (int i = 0; i < ROWS * DEPTH; i++)
        rows[i] = i / DEPTH % 3 == 0 ? -1 : i / DEPTH % 3 == 1 ? 1 : i % 2 ? 1.0F : -1.0F;
    for (uint32_t bits = 2; bits <= 8; bits *= 2)
        for (int kind = 0; kind < 4; kind++) {
            const CpuBlocks like = {.columns = COLUMNS,
                .depth = DEPTH,
                .block = BLOCK,
                .blocks = DEPTH / BLOCK,
                .bits = bits,
                .is_signed = kind & 1,
                .has_zeros = kind & 2};
            for (size_t i = 0; i < sizeof codes; i++) check(codes[i], &like, rows);
        }
}

int test_cpu_blocks_dot_avx2(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_the_largest_bytes_do_not_saturate),
    };
    return cmocka_run_group_tests_name("cpu_blocks_dot_avx2", tests, NULL, NULL);
}
