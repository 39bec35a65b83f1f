#include "tests/kernels/fixtures/expansion_text.h"

static void test_fused_operators_are_the_plain_ones_in_order(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedMatMul", "{activation=\"gelu_erf\"}", "float32[2,3] float32[3,4] float32[4]", 1,
            "MatMul(0 1) Add(3 2) Gelu(4) -> 5"},
        {"FusedMatMul", "{alpha=0.5, transB=1}", "float32[2,3] float32[4,3] - float32[2,4]", 1,
            "Transpose(1) MatMul(0 4) Mul(5 6) Add(7 3) -> 8"},
        {"FusedConv", "{activation=\"clip\", activation_beta=6.0}",
            "float32[1,3,5,5] float32[4,3,3,3]", 1, "Conv(0 1) Clip(2 3 4) -> 5"},
        {"FusedConv", "{}", "float32[1,3,5,5] float32[4,3,3,3] float32[4] float32[1,4,3,3]", 1,
            "Conv(0 1 2) Add(4 3) -> 5"},
        {"FusedElementwise", "{program=\"Mul i0 c0; Add r0 i1\", constants=[2.0]}",
            "float32[2,3] float32[3]", 1, "Mul(0 2) Add(3 1) -> 4"},
        {"Append", "{axis=1}", "float32[2,3] float32[2,1]", 1, "Concat(0 1) -> 2"},
    };
    expansion_text_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_terms_do_not_widen_the_result(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"FusedMatMul", NULL, "float32[2,3] float32[3,4] float32[5,2,4]",
            "! bias or residual does not fit the result"},
        {"FusedMatMul", "{transA=1}", "float32[3] float32[3,4]",
            "! a transposed operand of rank 1"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_fused(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_operators_are_the_plain_ones_in_order),
        cmocka_unit_test(test_terms_do_not_widen_the_result),
    };
    return cmocka_run_group_tests_name("expand_fused", tests, NULL, NULL);
}
