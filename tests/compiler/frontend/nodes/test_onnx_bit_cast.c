#include "tests/compiler/onnx_run.h"

static OnnxModel *bit_cast(const char *from, const char *to, int64_t number) {
    OnnxModel *model = onnx_model_make(26);
    onnx_add_input(model->graph, "x", from);
    onnx_add_output(model->graph, "y", to);
    onnx_set_int(onnx_add_node(model->graph, "BitCast", "x", "y"), "to", number);
    return model;
}

static void test_onnx_bit_cast_keeps_every_bit(void **state) {
    (void)state;
    onnx_model_expect(bit_cast("float32", "int32", 6), "float32[2] 1 0 -> int32[2] 1.06535e+09 0");
    onnx_model_expect(bit_cast("int4", "uint4", 21), "int4[3] 1 -1 -8 -> uint4[3] 1 15 8");
    onnx_model_expect(bit_cast("bool", "uint8", 2), "bool[2] 1 0 -> uint8[2] 1 0");
}

static void test_onnx_bit_cast_makes_bools_of_two_values(void **state) {
    (void)state;
    onnx_model_expect(bit_cast("int8", "bool", 9), "int8[4] 0 1 2 -1 -> bool[4] 0 1 1 1");
    onnx_model_expect(bit_cast("bool", "bool", 9), "bool[2] 0 1 -> bool[2] 0 1");
    onnx_model_expect_failure(bit_cast("int16", "bool", 9), "int16[1] 0", "int16 has not as many");
}

int test_onnx_bit_cast(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_bit_cast_keeps_every_bit),
        cmocka_unit_test(test_onnx_bit_cast_makes_bools_of_two_values),
    };
    return cmocka_run_group_tests_name("onnx_bit_cast", tests, NULL, NULL);
}
