#include "tests/kernels/fixtures/expansion_text.h"

static void test_products_of_bytes_are_plain_operators(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedMatMulInteger", "{activation=\"relu\"}",
            "uint8[2,3] int8[3,4] float32[] float32[4] uint8[] - float32[4] float32[2,4]", 1,
            "MatMulInteger(0 1 4) Cast(8) Mul(2 3) Mul(9 10) Add(11 6) Add(12 7) Relu(13) -> 14"},
        {"FusedQLinearMatMul", NULL,
            "uint8[2,3] float32[] uint8[] int8[3,4] float32[4] int8[] float32[] int8[] int32[4]", 1,
            "MatMulInteger(0 3 2 5) Add(9 8) Cast(10) Mul(1 4) Div(12 6) Cast(13) Mul(11 14) "
            "Equal(15 15) Where(16 15 17) Round(18) Cast(7) Add(19 20) Clip(21 22 23) Cast(24) -> "
            "25"},
    };
    expansion_text_check(rows, sizeof rows / sizeof *rows);
}

int test_expand_integer_products(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_bytes_are_plain_operators),
    };
    return cmocka_run_group_tests_name("expand_integer_products", tests, NULL, NULL);
}
