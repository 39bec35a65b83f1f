#include "kernels/shape_rules/operator_cost.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

typedef struct CostCase {
    const char *name, *attributes, *inputs;
    uint32_t output_count;
    double operations, bytes;
} CostCase;

static void check(const CostCase *one) {
    InferFixture fixture;
    infer_fixture_init(&fixture, one->name, one->attributes, one->inputs, one->output_count);
    assert_ok(operator_infer(&fixture.request));
    const OperatorCall call = {
        .operator_info = fixture.request.operator_info,
        .attributes = fixture.attributes,
        .input_count = fixture.request.input_count,
        .output_count = one->output_count,
        .inputs = fixture.specs,
        .outputs = fixture.request.outputs,
    };
    const OperatorCost cost = operator_cost(&call);
    if (cost.operations != one->operations || cost.bytes != one->bytes)
        fail_msg("%s (%s): %g operations, %g bytes", one->name, one->inputs, cost.operations,
            cost.bytes);
    infer_fixture_deinit(&fixture);
}

static void test_operator_cost_of_products(void **state) {
    (void)state;
    static const CostCase cases[] = {
        {"MatMul", NULL, "float32[3,5] float32[5,7]", 1, 2 * 3 * 5 * 7, 4 * (15 + 35 + 21)},
        {"MatMul", NULL, "float16[2,3,5] float16[5,7]", 1, 2 * 2 * 3 * 5 * 7, 2 * (30 + 35 + 42)},
        {"MatMul", NULL, "float32[5] float32[5,7]", 1, 2 * 5 * 7, 4 * (5 + 35 + 7)},
        {"MatMul", NULL, "float32[3,5] float32[5]", 1, 2 * 3 * 5, 4 * (15 + 5 + 3)},
        {"MatMul", NULL, "float32[0,5] float32[5,7]", 1, 0, 4 * 35},
        {"Gemm", "{transA=1, transB=1}", "float32[5,3] float32[7,5] float32[7]", 1, 2 * 3 * 5 * 7,
            4 * (15 + 35 + 7 + 21)},
        {"FusedMatMul", "{transA=1}", "float32[5,3] float32[5,7] - float32[3,7]", 1, 2 * 3 * 5 * 7,
            4 * (15 + 35 + 21 + 21)},
        {"FusedMatMulBFloat16", NULL, "float32[3,5] bfloat16[5,7]", 1, 2 * 3 * 5 * 7,
            4 * 15 + 2 * 35 + 4 * 21},
        {"FusedMatMulBlocks", "{block_size=2}", "float32[3,5] int4[7,5] float32[7,3]", 1,
            2 * 3 * 5 * 7, 4 * 15 + 17.5 + 4 * 21 + 4 * 21},
        {"FusedMatMulInt8", NULL, "float32[3,5] int8[5,7] float32[7]", 1, 2 * 3 * 5 * 7,
            4 * 15 + 35 + 4 * 7 + 4 * 21},
        {"MatMulInteger", NULL, "uint8[3,5] int8[5,7]", 1, 2 * 3 * 5 * 7, 15 + 35 + 4 * 21},
        {"LSTM", "{hidden_size=4}", "float32[6,2,3] float32[1,16,3] float32[1,16,4]", 1,
            2 * 6 * 2 * (48 + 64), 4 * (36 + 48 + 64 + 48)},
        {"LSTMBFloat16", NULL, "float32[6,2,3] bfloat16[1,16,3] bfloat16[1,16,4]", 1,
            2 * 6 * 2 * (48 + 64), 4 * 36 + 2 * (48 + 64) + 4 * 48},
        {"FusedAttention", NULL, "float32[2,5,8] float32[2,9,8] float32[2,9,3]", 1,
            2 * 2 * 5 * 9 * (8 + 3), 4 * (80 + 144 + 54 + 30)},
        {"FusedAttention", "{key_rows_first=1, value_rows_first=1}",
            "float32[2,5,8] float32[9,2,8] float32[9,2,3]", 1, 2 * 2 * 5 * 9 * (8 + 3),
            4 * (80 + 144 + 54 + 30)},
        {"Attention", NULL, "float32[1,2,5,8] float32[1,2,9,8] float32[1,2,9,3]", 1,
            2 * 2 * 5 * 9 * (8 + 3), 4 * (80 + 144 + 54 + 30)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check(&cases[i]);
}

static void test_operator_cost_of_windows(void **state) {
    (void)state;
    static const CostCase cases[] = {
        {"Conv", "{pads=[1, 1, 1, 1]}", "float32[2,3,8,8] float32[4,3,3,3] float32[4]", 1,
            2 * (2 * 4 * 64) * 27, 4 * (384 + 108 + 4 + 512)},
        {"FusedConv", "{channels_last=1, group=3}", "float32[1,8,8,3] float32[3,1,3,3]", 1,
            2 * 36 * 3 * 9, 4 * (192 + 27 + 108)},
        {"ConvTranspose", NULL, "float32[1,3,4,4] float32[3,2,2,2]", 1, 2 * 48 * 8,
            4 * (48 + 24 + 50)},
        {"MaxPool", "{kernel_shape=[2, 2], strides=[2, 2]}", "float32[1,3,8,8]", 1, 48 * 4,
            4 * (192 + 48)},
        {"FusedConvInt8", NULL, "float32[1,8,8,4] int8[5,4,3,3] float32[5]", 1, 2 * 5 * 36 * 36,
            4 * 256 + 180 + 4 * 5 + 4 * 180},
        {"FusedPool", "{operator=\"GlobalAveragePool\"}", "float32[1,8,8,3]", 1, 192,
            4 * (192 + 3)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check(&cases[i]);
}

static void test_operator_cost_of_what_has_no_rule_is_its_elements(void **state) {
    (void)state;
    static const CostCase cases[] = {
        {"Add", NULL, "float32[2,3] float32[3]", 1, 6, 4 * (6 + 3 + 6)},
        {"ReduceSum", NULL, "float32[4,5] int64[1]=1", 1, 20, 4 * (20 + 4)},
        {"FusedElementwise", "{constants=[2.0], program=\"Mul i0 c0; Relu r0; Add r1 i1\"}",
            "float32[2,3] float32[3]", 1, 3 * 6, 4 * (6 + 3 + 6)},
        {"Transpose", NULL, "float32[2,3]", 1, 0, 4 * 12},
        {"Gather", NULL, "float32[1000,8] int64[2]", 1, 0, 8 * 2 + 2 * 4 * 16},
        {"Slice", NULL, "float32[100] int64[1]=0 int64[1]=10", 1, 0, 2 * 4 * 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check(&cases[i]);
}

int test_operator_cost(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_cost_of_products),
        cmocka_unit_test(test_operator_cost_of_windows),
        cmocka_unit_test(test_operator_cost_of_what_has_no_rule_is_its_elements),
    };
    return cmocka_run_group_tests_name("operator_cost", tests, NULL, NULL);
}
