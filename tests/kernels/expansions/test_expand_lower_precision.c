#include "tests/kernels/fixtures/expansion_text.h"

static void test_products_of_lower_precision_are_plain_operators(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedMatMulBFloat16", "{activation=\"relu\"}", "float32[2,3] bfloat16[3,4] float32[4]", 1,
            "Cast(0) Cast(3) Cast(1) MatMul(4 5) Add(6 2) Relu(7) -> 8"},
        {"FusedMatMulInt8", NULL, "float32[2,3] int8[3,4] float32[4] - float32[2,4]", 1,
            "Sub(0 0) Equal(9 8) Where(10 0 8) ReduceMin(11 13) Min(14 12) ReduceMax(11 17) "
            "Max(18 16) Mul(15 20) Mul(19 20) Sub(23 22) Max(24 21) Div(6 25) Div(25 6) Neg(15) "
            "Mul(28 26) Round(29) Mul(11 26) Round(31) Add(32 30) Clip(33 7 5) Cast(34) "
            "Cast(30) MatMulInteger(35 1 36) Cast(37) Where(10 39 0) Cast(1) MatMul(40 41) "
            "Add(38 42) Mul(27 2) Mul(43 44) Add(45 4) -> 46"},
        {"FusedConvBFloat16", NULL, "float32[1,5,5,3] bfloat16[4,3,2,2] - float32[1,4,4,4]", 1,
            "Cast(0) Cast(4) Cast(1) Transpose(5) Conv(7 6) Transpose(8) Add(9 3) -> 10"},
        {"FusedConvInt8", NULL, "float32[1,5,5,3] int8[4,3,2,2] float32[4] float32[4]", 1,
            "Sub(0 0) Equal(8 7) Where(9 0 7) ReduceMin(10 12) Min(13 11) ReduceMax(10 16) "
            "Max(17 15) Mul(14 19) Mul(18 19) Sub(22 21) Max(23 20) Div(5 24) Div(24 5) Neg(14) "
            "Mul(27 25) Round(28) Mul(10 25) Round(30) Add(31 29) Clip(32 6 4) Sub(33 29) "
            "Where(9 34 0) Cast(35) Cast(1) Transpose(36) Conv(38 37) Transpose(39) Cast(40) "
            "Mul(26 2) Mul(41 42) Add(43 3) -> 44"},
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
