#include "tests/kernels/fixtures/infer_fixture.h"

static void test_lstm_rule_checks_every_operand(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"LSTM", NULL, "float32[5,2,3] float32[1,16,3] float32[1,16,4]",
            "float32[5, 1, 2, 4] float32[1, 2, 4] float32[1, 2, 4]"},
        {"LSTM", "{layout=1, direction=\"bidirectional\"}",
            "float32[2,5,3] float32[2,16,3] float32[2,16,4] float32[2,32] int32[2]",
            "float32[2, 5, 2, 4] float32[2, 2, 4]"},
        {"LSTM", NULL, "float32[5,2,3] float32[1,16,2] float32[1,16,4]", "! input 1 has shape"},
        {"LSTM", NULL, "float32[5,2,3] float32[1,16,3] float32[1,15,4]", "! input 2 has shape"},
        {"LSTM", NULL, "float32[5,2,3] float32[1,16,3] float32[1,16,4] float32[1,16]",
            "! input 3 has shape"},
        {"LSTM", NULL, "float32[5,2,3] float32[1,16,3] float32[1,16,4] - int64[2]",
            "! input 4 is int64"},
        {"LSTM", NULL, "float32[5,2,3] float32[1,16,3] float32[1,16,4] - - float32[1,3,4]",
            "! input 5 has shape"},
        {"LSTM", "{hidden_size=5}", "float32[5,2,3] float32[1,16,3] float32[1,16,4]",
            "! hidden_size"},
        {"LSTM", "{direction=\"up\"}", "float32[5,2,3] float32[1,16,3] float32[1,16,4]",
            "! direction \"up\""},
        {"LSTM", NULL, "float32[5,2,3] float32[1,0,3] float32[1,0,0]", "! a hidden size of 0"},
        {"LSTM", NULL, "float32[5,2] float32[1,16,3] float32[1,16,4]", "! input 0 has rank 2"},
        {"LSTM", NULL, "float32[5,2,3] bfloat16[1,16,3] float32[1,16,4]", "! input 1 is bfloat16"},
        {"LSTMBFloat16", NULL, "float32[5,2,3] bfloat16[1,16,3] bfloat16[1,16,4] float32[1,32]",
            "float32[5, 1, 2, 4] float32[1, 2, 4] float32[1, 2, 4]"},
        {"LSTMBFloat16", NULL, "float32[5,2,3] bfloat16[1,16,3] float32[1,16,4]",
            "! input 2 is float32"},
        {"LSTMBFloat16", NULL, "bfloat16[5,2,3] bfloat16[1,16,3] bfloat16[1,16,4]",
            "! input 0 is bfloat16"},
        {"DynamicQuantizeLSTM", NULL,
            "float32[5,2,3] int8[1,3,16] uint8[1,4,16] - - - - - float32[1] int8[1] "
            "float32[1,1,16] uint8[1,1,16]",
            "float32[5, 1, 2, 4] float32[1, 2, 4] float32[1, 2, 4]"},
        {"DynamicQuantizeLSTM", NULL,
            "float32[5,2,3] int8[1,16,3] int8[1,4,16] - - - - - float32[1] - float32[1]",
            "! input 1 has shape"},
        {"DynamicQuantizeLSTM", NULL,
            "float32[5,2,3] int8[1,3,16] int8[1,4,16] - - - - - float32[1] - float32[16,1]",
            "! input 10: [16, 1] does not fit [1, 4, 16]"},
        {"DynamicQuantizeLSTM", NULL,
            "float32[5,2,3] int8[1,3,16] int8[1,4,16] - - - - - float32[1] uint8[1] float32[1]",
            "! input 9 is uint8"},
        {"DynamicQuantizeLSTM", NULL,
            "float32[5,2,3] int8[1,3,16] int8[1,4,16] - - - - - - - float32[1]",
            "! input 8 is missing"},
        {"DynamicQuantizeLSTM", NULL,
            "float32[5,2,3] float32[1,3,16] int8[1,4,16] - - - - - float32[1] - float32[1]",
            "! input 1 is float32"},
        {"GRUBFloat16", NULL, "float32[5,2,3] bfloat16[1,12,3] bfloat16[1,12,4] bfloat16[1,24]",
            "! input 3 is bfloat16"},
        {"RNNBFloat16", NULL, "float32[5,2,3] bfloat16[1,5,3] bfloat16[1,4,4]",
            "! input 1 has shape"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_recurrent(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstm_rule_checks_every_operand),
    };
    return cmocka_run_group_tests_name("shape_recurrent", tests, NULL, NULL);
}
