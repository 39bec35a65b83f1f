#include "tests/kernels/fixtures/infer_fixture.h"

static void test_quantization_rules_check_types_scales_and_zero_points(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"QuantizeLinear", NULL, "float32[2,3] float32[]", "uint8[2, 3]"},
        {"QuantizeLinear", NULL, "float16[2,3] float8e8m0[3] int4[3]", "int4[2, 3]"},
        {"QuantizeLinear", "{output_dtype=int2}", "int32[2,3] int32[1]", "int2[2, 3]"},
        {"QuantizeLinear", "{output_dtype=int2}", "float32[2] float32[] int4[]",
            "! output_dtype int2 with a zero point of int4"},
        {"QuantizeLinear", "{output_dtype=int64}", "float32[2] float32[]", "! to int64"},
        {"QuantizeLinear", "{precision=int8}", "float32[2] float32[]", "! precision int8"},
        {"QuantizeLinear", NULL, "float64[2] float32[]", "! input 0 is float64"},
        {"QuantizeLinear", NULL, "float32[2] int8[]", "! input 1 is int8"},
        {"QuantizeLinear", NULL, "float32[2,3] float32[3] int8[]",
            "! the zero point has another shape than the scale"},
        {"QuantizeLinear", NULL, "float32[2,3] float32[2]", "! input 1: [2] does not fit [2, 3]"},
        {"QuantizeLinear", "{axis=2}", "float32[2,3] float32[2]", "! axis 2 of rank 2"},
        {"QuantizeLinear", "{block_size=-1}", "float32[2] float32[]", "! block_size -1"},
        {"QuantizeLinear", "{block_size=2}", "float32[2,5] float32[2,2]", "! [2, 2] does not fit"},
        {"QuantizeLinear", "{block_size=9223372036854775807}", "float32[2,5] float32[2,1]",
            "uint8[2, 5]"},
        {"DequantizeLinear", NULL, "int4[2,3] float16[]", "float16[2, 3]"},
        {"DequantizeLinear", "{output_dtype=float32}", "int32[2] float8e8m0[]", "float32[2]"},
        {"DequantizeLinear", NULL, "int32[2] float8e8m0[]", "! to float8e8m0"},
        {"DequantizeLinear", NULL, "int4[2] float32[] uint4[]",
            "! input 0 is int4, input 2 is uint4"},
        {"DequantizeLinear", NULL, "float32[2] float32[]", "! input 0 is float32"},
        {"DequantizeLinear", NULL, "int8[2] float64[]", "! input 1 is float64"},
        {"DequantizeLinear", "{output_dtype=float64}", "int8[2] float32[]", "! to float64"},
        {"DynamicQuantizeLinear", NULL, "float32[2,3]", "uint8[2, 3] float32[] uint8[]"},
        {"DynamicQuantizeLinear", NULL, "float16[2,3]", "! input 0 is float16"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_integer_products_check_their_operands(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"MatMulInteger", NULL, "int8[2,3] uint8[3,4] int8[] uint8[4]", "int32[2, 4]"},
        {"MatMulInteger", NULL, "int8[5,1,2,3] uint8[6,3,4]", "int32[5, 6, 2, 4]"},
        {"MatMulInteger", NULL, "int8[3] uint8[3]", "int32[]"},
        {"MatMulInteger", NULL, "int8[] uint8[3]", "! a scalar operand"},
        {"MatMulInteger", NULL, "int8[2,3] uint8[2,4]", "! 3 columns times 2 rows"},
        {"MatMulInteger", NULL, "int16[2,3] uint8[3,4]", "! input 0 is int16"},
        {"MatMulInteger", NULL, "int8[2,3] uint8[3,4] uint8[]",
            "! input 0 is int8, input 2 is uint8"},
        {"MatMulInteger", NULL, "int8[2,3] uint8[3,4] int8[3]", "! input 2: [3] does not fit"},
        {"QLinearMatMul", NULL,
            "int8[2,3] float32[] int8[] int8[3,4] float32[4] int8[4] float32[] uint8[]",
            "uint8[2, 4]"},
        {"QLinearMatMul", NULL,
            "int8[2,3] float32[] int8[] int8[3,4] float32[4] int8[4] float16[] uint8[]",
            "! input 1 is float32, input 6 is float16"},
        {"QLinearMatMul", NULL,
            "int8[2,3] float32[] int8[] int8[3,4] float32[4] int8[4] float32[2] uint8[]",
            "! input 6 is not one number"},
        {"QLinearMatMul", NULL,
            "int8[2,3] float32[] int8[] int8[3,4] float32[4] int8[4] float32[] int32[]",
            "! input 7 is int32"},
        {"QLinearMatMul", NULL,
            "int8[2,3] float32[] int8[] float8e5m2[3,4] float32[] float8e5m2[] float32[] int8[]",
            "! int8 times float8e5m2"},
        {"ConvInteger", "{pads=[1, 1]}", "uint8[1,2,5] int8[4,2,3] uint8[] int8[4]",
            "int32[1, 4, 5]"},
        {"ConvInteger", NULL, "uint8[1,2] int8[4,2]", "! an input of rank 2"},
        {"ConvInteger", "{group=0}", "uint8[1,2,5] int8[4,2,3]", "! group 0"},
        {"ConvInteger", "{group=2}", "uint8[1,2,5] int8[4,2,3]", "! 2 channels in 2 groups"},
        {"ConvInteger", NULL, "uint8[1,2,5] int8[4,2,3] uint8[2]", "! input 2 is not one number"},
        {"ConvInteger", NULL, "uint8[1,2,5] int8[4,2,3] - int8[2]", "! input 3 has shape [2]"},
        {"QLinearConv", NULL,
            "uint8[1,2,5] float32[] uint8[] int8[4,2,3] float32[4] int8[4] float32[] int8[] "
            "int32[4]",
            "int8[1, 4, 3]"},
        {"QLinearConv", NULL,
            "uint8[1,2,5] float32[] uint8[] int8[4,2,3] float32[4] int8[4] float32[] int8[] "
            "int32[3]",
            "! input 8 has shape [3]"},
        {"QLinearConv", NULL,
            "uint8[1,2,5] float32[] uint8[] int8[4,2,3] float16[4] int8[4] float32[] int8[]",
            "! input 4 is float16"},
        {"QLinearConv", NULL,
            "uint8[1,2,5] float32[2] uint8[] int8[4,2,3] float32[4] int8[4] float32[] int8[]",
            "! input 1 is not one number"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_quantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantization_rules_check_types_scales_and_zero_points),
        cmocka_unit_test(test_integer_products_check_their_operands),
    };
    return cmocka_run_group_tests_name("shape_quantize", tests, NULL, NULL);
}
