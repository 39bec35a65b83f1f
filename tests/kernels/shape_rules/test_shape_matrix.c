#include "tests/kernels/fixtures/infer_fixture.h"

static void test_matrix_rules_multiply_and_fuse(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Det", NULL, "float16[2,5,3,3]", "float16[2, 5]"},
        {"Det", NULL, "float32[3,3]", "float32[]"},
        {"Det", NULL, "float32[2,3]", "! a matrix of 2 rows and 3 columns"},
        {"Det", NULL, "float32[3]", "! a matrix of rank 1"},
        {"Det", NULL, "int32[3,3]", "! input 0 is int32"},
        {"MatMul", NULL, "float32[2,1,3,4] float32[5,4,6]", "float32[2, 5, 3, 6]"},
        {"MatMul", NULL, "float32[4] float32[4]", "float32[]"},
        {"MatMul", NULL, "float32[4] float32[2,4,3]", "float32[2, 3]"},
        {"MatMul", NULL, "float32[2,3,4] float32[4]", "float32[2, 3]"},
        {"MatMul", NULL, "float32[2,3] float32[4,3]", "! 3 columns times 4 rows"},
        {"MatMul", NULL, "float32[] float32[4]", "! a scalar operand"},
        {"MatMul", NULL, "int8[2,3] int8[3,2]", "int8[2, 2]"},
        {"MatMul", NULL, "bool[2,3] bool[3,2]", "! input 0 is bool"},
        {"Gemm", "{transA=1}", "float32[3,2] float32[3,4] float32[4]", "float32[2, 4]"},
        {"Gemm", NULL, "float32[2,3] float32[3,4] float32[2,4,1]", "! do not broadcast"},
        {"Gemm", NULL, "float32[2,3] float32[3,4] float32[1,2,4]",
            "! C does not broadcast to the result"},
        {"Gemm", NULL, "float32[2,3,1] float32[3,4]", "! input 0 has rank 3, not 2"},
        {"FusedMatMul", "{transB=1, alpha=0.5}", "float32[2,3] float32[4,3] float32[4]",
            "float32[2, 4]"},
        {"FusedMatMul", NULL, "float32[2,3] float32[3,4] - float32[2,4]", "float32[2, 4]"},
        {"FusedMatMul", NULL, "float32[2,3] float32[3,4] - float32[4]", "! input 3 has shape"},
        {"FusedMatMul", NULL, "float32[2,3] float32[3,4] float32[5,2,4]", "! does not fit"},
        {"FusedMatMul", "{activation=\"selu\"}", "float32[2,3] float32[3,4]",
            "! unknown activation \"selu\""},
        {"FusedMatMul", "{transA=1}", "float32[3] float32[3,4]", "! operand of rank 1"},
        {"FusedMatMulBFloat16", NULL, "float32[5,2,3] bfloat16[3,4] float32[4] float32[5,2,4]",
            "float32[5, 2, 4]"},
        {"FusedMatMulBFloat16", NULL, "float32[3] bfloat16[3,4]", "! input 0 has rank 1"},
        {"FusedMatMulBFloat16", NULL, "float32[2,3] float32[3,4]", "! input 1 is float32"},
        {"FusedMatMulBFloat16", NULL, "bfloat16[2,3] bfloat16[3,4]", "! input 0 is bfloat16"},
        {"FusedMatMulBFloat16", NULL, "float32[2,3] bfloat16[4,4]", "! 3 columns times 4 rows"},
        {"FusedMatMulBFloat16", NULL, "float32[2,3] bfloat16[3,4] float32[1,4]",
            "! input 2 has shape"},
        {"FusedMatMulBFloat16", NULL, "float32[2,3] bfloat16[3,4] - float32[4]",
            "! input 3 has shape"},
        {"FusedMatMulInt8", NULL, "float32[2,3] int8[3,4] float32[4] float32[4] float32[2,4]",
            "float32[2, 4]"},
        {"FusedMatMulInt8", NULL, "float32[2,3] uint8[3,4] float32[4]", "! input 1 is uint8"},
        {"FusedMatMulInt8", NULL, "float32[2,3] int8[2,3,4] float32[4]", "! input 1 has rank 3"},
        {"FusedMatMulInt8", NULL, "float32[2,3] int8[3,4] float32[1]", "! input 2 has shape"},
        {"FusedMatMulInt8", NULL, "float32[2,3] int8[3,4] float32[4] float64[4]",
            "! input 3 is float64"},
        {"FusedConv", NULL, "float32[1,3,5,5] float32[4,3,3,3] - float32[1,4,3,3]",
            "float32[1, 4, 3, 3]"},
        {"FusedConv", NULL, "float32[1,3,5,5] float32[4,3,3,3] - float32[4,1,1]",
            "! input 3 has shape"},
        {"FusedElementwise", "{program=\"Add i0 i1; Greater r0 c0\", constants=[1.0]}",
            "float32[2,1] float32[3]", "bool[2, 3]"},
        {"FusedElementwise", "{program=\"Add i0 i2\"}", "float32[2] float32[2]",
            "! operand i2 of 2"},
        {"FusedAttention", NULL, "float32[2,5,8] float32[2,7,8] float32[2,7,6]",
            "float32[2, 5, 6]"},
        {"FusedAttention", "{transposed_key=1}", "float32[2,5,8] float32[2,7,8] float32[2,7,6]",
            "! 8 columns times 7 rows"},
        {"FusedAttention", "{key_rows_first=1}", "float32[2,5,8] float32[7,1,8] float32[2,7,6]",
            "float32[2, 5, 6]"},
        {"FusedAttention", "{value_rows_first=1}", "float32[2,5,8] float32[2,7,8] float32[2,7,6]",
            "! 7 columns times 2 rows"},
        {"FusedAttention", "{key_rows_first=1, transposed_key=1}",
            "float32[2,5,8] float32[7,2,8] float32[2,7,6]", "! both transposed and with its rows"},
        {"FusedAttention", NULL, "float32[8] float32[2,7,8] float32[2,7,6]",
            "! input 0 has rank 1"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_matrix_rules_read_blocks(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"FusedMatMulBlocks", "{block_size=2}", "float32[5,2,3] int4[4,3] float32[4,2] int4[4,2]",
            "float32[5, 2, 4]"},
        {"FusedMatMulBlocks", "{block_size=0}", "float32[2,3] int4[4,3] float32[4,2]",
            "! block_size 0"},
        {"FusedMatMulBlocks", "{block_size=2}", "float32[3] int4[4,3] float32[4,2]",
            "! input 0 has rank 1"},
        {"FusedMatMulBlocks", "{block_size=2}", "float32[2,3] int16[4,3] float32[4,2]",
            "! input 1 is int16"},
        {"FusedMatMulBlocks", "{block_size=2}", "float32[2,3] int4[4,3] float32[4]",
            "! input 2 has rank 1"},
        {"FusedMatMulBlocks", "{block_size=2}", "float32[2,3] int4[4,3] float32[4,3]",
            "! input 1: [4, 3] does not fit [4, 3]"},
        {"FusedMatMulBlocks", "{block_size=2}", "float32[2,4] int4[4,3] float32[4,2]",
            "! 4 columns times 3 rows"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_matrix(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_rules_multiply_and_fuse),
        cmocka_unit_test(test_matrix_rules_read_blocks),
    };
    return cmocka_run_group_tests_name("shape_matrix", tests, NULL, NULL);
}
