#include "tests/kernels/expansion_text.h"

static void test_products_of_lower_precision_are_plain_operators(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedMatMulBFloat16", "{activation=\"relu\"}", "float32[2,3] bfloat16[3,4] float32[4]", 1,
            "Cast(0) Cast(3) Cast(1) MatMul(4 5) Add(6 2) Relu(7) -> 8"},
        {"FusedMatMulInt8", NULL, "float32[2,3] int8[3,4] float32[4] - float32[2,4]", 1,
            "ReduceMin(0 9) Min(10 8) ReduceMax(0 13) Max(14 12) Sub(15 11) Sub(16 16) Max(16 5) "
            "Div(6 18) Div(18 6) Add(20 17) Neg(11) Mul(22 19) Round(23) Mul(0 19) Round(25) "
            "Add(26 24) Clip(27 7 6) Cast(28) Cast(24) MatMulInteger(29 1 30) Cast(31) Mul(21 2) "
            "Mul(32 33) Add(34 4) -> 35"},
        {"FusedConvBFloat16", NULL, "float32[1,5,5,3] bfloat16[4,3,2,2] - float32[1,4,4,4]", 1,
            "Cast(0) Cast(4) Cast(1) Transpose(5) Conv(7 6) Transpose(8) Add(9 3) -> 10"},
        {"FusedConvInt8", NULL, "float32[1,5,5,3] int8[4,3,2,2] float32[4] float32[4]", 1,
            "ReduceMin(0 8) Min(9 7) ReduceMax(0 12) Max(13 11) Sub(14 10) Sub(15 15) Max(15 4) "
            "Div(5 17) Div(17 5) Add(19 16) Neg(10) Mul(21 18) Round(22) Mul(0 18) Round(24) "
            "Add(25 23) Clip(26 6 5) Sub(27 23) Cast(28) Cast(1) Transpose(29) Conv(31 30) "
            "Transpose(32) Cast(33) Mul(20 2) Mul(34 35) Add(36 3) -> 37"},
        {"LSTMBFloat16", "{input_forget=1}",
            "float32[5,2,3] bfloat16[1,16,3] bfloat16[1,16,4] - int32[2]", 3,
            "Cast(1) Cast(2) LSTM(0 5 6 - 4) -> 7 8 9"},
        {"GRUBFloat16", NULL, "float32[5,2,3] bfloat16[1,12,3] bfloat16[1,12,4]", 2,
            "Cast(1) Cast(2) GRU(0 3 4) -> 5 6"},
        {"RNNBFloat16", NULL, "float32[5,2,3] bfloat16[1,4,3] bfloat16[1,4,4] float32[1,8]", 1,
            "Cast(1) Cast(2) RNN(0 4 5 3) -> 6"},
    };
    expansion_text_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_lower_precision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_lower_precision_are_plain_operators),
    };
    return cmocka_run_group_tests_name("expand_lower_precision", tests, NULL, NULL);
}
