#include <stdlib.h>

#include "kernels/tensor/dtype_bits.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/support/test_random.h"

typedef struct Sizes {
    DType dtype;
    int64_t rows, depth, columns, block;
    const char *attributes;
} Sizes;

/* More than one tile in every direction; depths that are no whole vectors, bytes or blocks. */
static const Sizes sizes[] = {
    {DTYPE_INT4, 1, 1100, 37, 32, "{block_size=32}"},
    {DTYPE_UINT4, 70, 600, 35, 64, "{block_size=64}"},
    {DTYPE_INT8, 5, 530, 20, 16, "{block_size=16}"},
    {DTYPE_UINT2, 33, 130, 18, 128, "{block_size=128}"},
    {DTYPE_INT4, 6, 37, 17, 16, "{block_size=16}"},
    {DTYPE_UINT8, 7, 90, 17, 7, "{block_size=7}"},
};

typedef struct Operands {
    float *a, *scales;
    uint8_t *codes, *zeros;
} Operands;

static uint8_t *random_codes(DType dtype, int64_t count) {
    const uint32_t bits = dtype_bits(dtype);
    const uint64_t bytes = ((uint64_t)count * bits + 7) / 8;
    uint64_t seed = 5;
    uint8_t *codes = calloc(bytes + 1, 1);
    assert_non_null(codes);
    for (uint64_t i = 0; i < bytes; i++) codes[i] = (uint8_t)test_random(&seed);
    if (bits < 8) dtype_bits_clear_rest(bits, (uint64_t)count, codes);
    return codes;
}

static KernelCall call_of(const Sizes *of, bool zeros, Operands *out) {
    const int64_t blocks = (of->depth + of->block - 1) / of->block;
    const Shape left = {2, {of->rows, of->depth}}, codes = {2, {of->columns, of->depth}};
    const Shape scales = {2, {of->columns, blocks}};
    *out = (Operands){kernel_random_floats(1, of->rows * of->depth),
        kernel_random_floats(2, of->columns * blocks),
        random_codes(of->dtype, of->columns * of->depth),
        random_codes(of->dtype, of->columns * blocks)};
    return (KernelCall){.name = "FusedMatMulBlocks",
        .attributes = of->attributes,
        .input_count = zeros ? 4 : 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, left, out->a}, {of->dtype, codes, out->codes},
            {DTYPE_FLOAT32, scales, out->scales}, {of->dtype, scales, out->zeros}}};
}

static void free_operands(Operands *operands) {
    free(operands->a);
    free(operands->scales);
    free(operands->codes);
    free(operands->zeros);
}

static void test_products_of_blocks_have_the_same_bits_however_they_run(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int zeros = 0; zeros < 2; zeros++) {
            Operands operands;
            KernelResult plain, portable;
            const KernelCall call = call_of(&sizes[i], zeros, &operands);
            kernel_call_check_bits(kernel_cpu_device(), &call, &plain);
            assert_string_equal(plain.kernel_name, "cpu.matmul_blocks");
            assert_ok(
                kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
            assert_memory_equal(plain.data[0], portable.data[0], plain.bytes[0]);
            kernel_result_deinit(&plain);
            kernel_result_deinit(&portable);
            free_operands(&operands);
        }
}

int test_cpu_blocks_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_blocks_have_the_same_bits_however_they_run),
    };
    return cmocka_run_group_tests_name("cpu_blocks_matmul", tests, NULL, NULL);
}
