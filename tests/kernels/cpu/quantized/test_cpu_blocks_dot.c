#include "kernels/cpu/quantized/cpu_blocks_dot.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/support/test_random.h"

enum { ROWS = 11, COLUMNS = 9, DEPTH = 336, BYTES_MAX = ROWS * 8192 };

/* Every instruction set has the bits of any machine, for codes of every size and sign, blocks
 * smaller and larger than a vector, steps that are infinite, and rows that are not finite. */
static void check(uint32_t bits, int64_t block, bool is_signed, bool has_zeros) {
    static uint8_t codes[COLUMNS * DEPTH], zeros[COLUMNS * DEPTH / 16], a[BYTES_MAX];
    uint64_t seed = bits;
    float *rows = kernel_random_floats(1, ROWS * DEPTH), *scales;
    CpuBlocks blocks = {.columns = COLUMNS,
        .depth = DEPTH,
        .block = block,
        .blocks = (DEPTH + block - 1) / block,
        .bits = bits,
        .is_signed = is_signed,
        .has_zeros = has_zeros,
        .codes = codes,
        .zeros = zeros};
    const CpuBlocksDot dot = cpu_blocks_dot_of(&blocks);
    blocks.scales = scales = kernel_random_floats(2, COLUMNS * blocks.blocks);
    scales[blocks.blocks - 1] = INFINITY;
    rows[2 * DEPTH + 20] = NAN;
    for (size_t i = 0; i < sizeof codes; i++) codes[i] = (uint8_t)test_random(&seed);
    for (size_t i = 0; i < sizeof zeros; i++) zeros[i] = (uint8_t)test_random(&seed);
    for (int64_t i = 0; i < ROWS; i++)
        cpu_blocks_quantize_for(CPU_LEVEL_PORTABLE)(
            &blocks, &dot, rows + i * DEPTH, a + i * dot.chunks * dot.chunk_bytes);
    float floats[COLUMNS * DEPTH / 16 + CPU_BLOCKS_LANES];
    cpu_blocks_init_values(&blocks);
    cpu_blocks_zeros(&blocks, cpu_blocks_widen_plain, 0, COLUMNS, floats);
    for (int64_t count = 1; count <= ROWS; count++) {
        float wanted[ROWS * COLUMNS], made[ROWS * COLUMNS];
        CpuDevice any = *cpu_device(kernel_cpu_device());
        CpuBlocksDotRows run = {
            &blocks, &dot, a, count, 0, COLUMNS, made, has_zeros ? floats : NULL};
        for (int level = 0; level < 3; level++) {
            any.level = level == 0 ? CPU_LEVEL_PORTABLE : CPU_LEVEL_AVX2;
            any.has_vnni = level == 2;
            if (any.level > cpu_device(kernel_cpu_device())->level) break;
            if (any.has_vnni && !cpu_device(kernel_cpu_device())->has_vnni) break;
            run.out = level == 0 ? wanted : made;
            cpu_blocks_dot_for(&any, &blocks)(&run);
            if (level > 0)
                assert_memory_equal(made, wanted, (size_t)(count * COLUMNS) * sizeof *made);
        }
    }
    free(rows);
    free(scales);
}

static void test_products_of_bytes_have_the_same_bits_everywhere(void **state) {
    (void)state;
    for (uint32_t bits = 2; bits <= 8; bits *= 2)
        for (int64_t block = 16; block <= 512; block *= 2)
            for (int i = 0; i < 4; i++) check(bits, block, i & 1, i & 2);
}

int test_cpu_blocks_dot(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_bytes_have_the_same_bits_everywhere),
    };
    return cmocka_run_group_tests_name("cpu_blocks_dot", tests, NULL, NULL);
}
