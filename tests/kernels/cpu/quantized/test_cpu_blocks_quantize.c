#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/quantized/cpu_blocks_dot.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { DEPTH = 300, BLOCK = 32, BYTES_MAX = 8192 };

/* The place of an element's byte in its row. */
static int64_t place_of(const CpuBlocksDot *dot, uint32_t bits, int64_t k) {
    const int64_t planes = 8 / bits, in_chunk = k % dot->chunk_codes;
    return k / dot->chunk_codes * dot->chunk_bytes + in_chunk % planes * CPU_BLOCKS_VECTOR +
           in_chunk / planes;
}

/* Every element is a whole number of its block's step; every level writes the same bytes. */
static void test_rows_become_bytes_in_the_order_of_the_codes(void **state) {
    (void)state;
    float *row = kernel_random_floats(3, DEPTH);
    for (int64_t k = 64; k < 96; k++) row[k] = 1e-35F; /* a block of nothing */
    row[130] = INFINITY;
    for (uint32_t bits = 2; bits <= 8; bits *= 2)
        for (int level = CPU_LEVEL_PORTABLE; level <= CPU_LEVEL_AVX512; level++) {
            const CpuBlocks blocks = {
                .columns = 1, .depth = DEPTH, .block = BLOCK, .blocks = 10, .bits = bits};
            const CpuBlocksDot dot = cpu_blocks_dot_of(&blocks);
            static int8_t made[BYTES_MAX], portable[BYTES_MAX];
            assert_true(cpu_blocks_dot_takes(&blocks));
            assert_true(dot.chunks * dot.chunk_bytes <= BYTES_MAX);
            if ((CpuLevel)level > cpu_device(kernel_cpu_device())->level) continue;
            memset(made, 77, sizeof made);
            cpu_blocks_quantize_for((CpuLevel)level)(&blocks, &dot, row, made);
            if (level == CPU_LEVEL_PORTABLE) memcpy(portable, made, sizeof made);
            assert_memory_equal(made, portable, sizeof made);
            for (int64_t k = 0; k < DEPTH; k++) {
                const int8_t byte = made[place_of(&dot, bits, k)];
                float step;
                memcpy(&step,
                    made + k / dot.chunk_codes * dot.chunk_bytes + 8 / bits * CPU_BLOCKS_VECTOR +
                        k % dot.chunk_codes * bits / 32 * 4,
                    sizeof step);
                if (k / BLOCK == 4)
                    assert_true(isnan(step) && byte == 0);
                else if (k / BLOCK == 2)
                    assert_true(step == 0 && byte == 0);
                else
                    assert_true(step > 0 && fabsf((float)byte * step - row[k]) <= step * 0.5001F);
            }
        }
    free(row);
}

static void test_only_powers_of_two_of_whole_bytes_are_taken(void **state) {
    (void)state;
    CpuBlocks blocks = {.columns = 3, .depth = 96, .block = 16, .blocks = 6, .bits = 4};
    assert_true(cpu_blocks_dot_takes(&blocks));
    blocks.block = 48;
    assert_false(cpu_blocks_dot_takes(&blocks));
    blocks.block = 8;
    assert_false(cpu_blocks_dot_takes(&blocks));
    blocks.block = 32, blocks.depth = 97;
    assert_false(cpu_blocks_dot_takes(&blocks));
}

int test_cpu_blocks_quantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_become_bytes_in_the_order_of_the_codes),
        cmocka_unit_test(test_only_powers_of_two_of_whole_bytes_are_taken),
    };
    return cmocka_run_group_tests_name("cpu_blocks_quantize", tests, NULL, NULL);
}
