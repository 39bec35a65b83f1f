#include "tests/kernels/fixtures/expansion_text.h"

static void test_products_with_blocks_are_plain_operators(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedMatMulBlocks", "{block_size=2}", "float32[2,3] int4[4,3] float32[4,2] int4[4,2]", 1,
            "DequantizeLinear(1 2 3) Transpose(4) MatMul(0 5) -> 6"},
        {"FusedMatMulBlocks", "{block_size=4}",
            "float32[2,8] uint4[3,8] float32[3,2] - float32[3] float32[16]", 1,
            "Cast(1) Gather(5 6) Reshape(7 8) Reshape(2 10) Mul(9 11) Reshape(12 13) "
            "Transpose(14) MatMul(0 15) Add(16 4) -> 17"},
        {"FusedMatMulBlocks", "{activation_bits=8, block_size=16}",
            "float32[2,24] int4[3,24] float32[3,2]", 1,
            "DequantizeLinear(1 2) Pad(0 4) Reshape(5 6) Sub(7 7) ReduceSum(12 13) Abs(7) "
            "ReduceMax(15 16) GreaterOrEqual(17 9) Where(18 17 11) Div(8 19) Where(18 20 10) "
            "Div(19 8) Where(18 22 10) Add(23 14) Mul(7 21) Round(25) Mul(26 24) "
            "Reshape(27 28) Slice(29 30 31 32) Transpose(3) MatMul(33 34) -> 35"},
    };
    expansion_text_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_blocks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_with_blocks_are_plain_operators),
    };
    return cmocka_run_group_tests_name("expand_blocks", tests, NULL, NULL);
}
