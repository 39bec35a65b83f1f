#include "kernels/cpu/device/cpu_pack.h"

#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/quantized/cpu_lower_product.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "tests/kernels/fixtures/kernel_call.h"

typedef struct Rule {
    const char *name, *attributes;
    uint32_t input;
    DType dtype;
    Shape shape;
    uint32_t layout;
    uint64_t bytes;
} Rule;

static void check_rule(const Rule *rule) {
    Attributes *attributes = NULL;
    const char *text = rule->attributes;
    const OperatorInfo *info = operator_find(rule->name);
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, info));
    const PackRequest request = {
        info, attributes, rule->input, {true, rule->dtype, 0, rule->shape}};
    uint32_t layout;
    uint64_t bytes;
    assert_ok(cpu_pack_rule(kernel_cpu_device(), &request, &layout, &bytes));
    assert_int_equal(layout, rule->layout);
    assert_int_equal(bytes, rule->bytes);
    assert_ok(cpu_pack_rule(kernel_portable_device(), &request, &layout, &bytes));
    assert_int_equal(layout, CPU_LAYOUT_PLAIN);
    attributes_release(attributes);
}

static void test_pack_rule_looks_at_the_constant_alone(void **state) {
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    const CpuLowerFormInfo *int8 = &cpu_lower_forms[cpu_lower_form(device, true)];
    const Rule rules[] = {
        {"MatMul", "{}", 1, DTYPE_FLOAT32, {2, {10, 70}}, CPU_LAYOUT_PANELS, 10 * 80 * 4},
        {"MatMul", "{}", 1, DTYPE_FLOAT16, {3, {2, 10, 64}}, CPU_LAYOUT_PANELS, 2 * 10 * 64 * 4},
        {"MatMul", "{}", 0, DTYPE_FLOAT32, {2, {10, 70}}, CPU_LAYOUT_PLAIN, 0},
        {"MatMul", "{}", 1, DTYPE_FLOAT64, {2, {10, 70}}, CPU_LAYOUT_PLAIN, 0},
        {"MatMul", "{}", 1, DTYPE_FLOAT32, {2, {10, 7}}, CPU_LAYOUT_PLAIN, 0},
        {"MatMul", "{}", 1, DTYPE_FLOAT32, {1, {70}}, CPU_LAYOUT_PLAIN, 0},
        {"MatMul", "{}", 1, DTYPE_FLOAT32, {2, {0, 70}}, CPU_LAYOUT_PLAIN, 0},
        {"Gemm", "{transB=1}", 1, DTYPE_FLOAT32, {2, {7, 10}}, CPU_LAYOUT_PANELS, 10 * 16 * 4},
        {"Gemm", "{transB=1}", 2, DTYPE_FLOAT32, {2, {7, 10}}, CPU_LAYOUT_PLAIN, 0},
        {"LSTM", "{}", 2, DTYPE_FLOAT32, {3, {1, 32, 8}}, CPU_LAYOUT_PANELS, 8 * 32 * 4},
        {"LSTMBFloat16", "{}", 1, DTYPE_BFLOAT16, {3, {1, 256, 64}}, CPU_LAYOUT_PANELS,
            64 * 256 * 4},
        {"LSTMBFloat16", "{}", 2, DTYPE_BFLOAT16, {3, {2, 256, 64}}, CPU_LAYOUT_PANELS_BFLOAT16,
            2 * 64 * 256 * 2},
        {"LSTMBFloat16", "{}", 2, DTYPE_BFLOAT16, {3, {1, 32, 8}}, CPU_LAYOUT_PANELS, 8 * 32 * 4},
        {"LSTMBFloat16", "{}", 2, DTYPE_BFLOAT16, {3, {1, 100, 64}}, CPU_LAYOUT_PANELS,
            64 * 112 * 4},
        {"GRUBFloat16", "{}", 2, DTYPE_BFLOAT16, {3, {1, 192, 64}}, CPU_LAYOUT_PLAIN, 0},
        {"GRUBFloat16", "{linear_before_reset=1}", 2, DTYPE_BFLOAT16, {3, {1, 192, 64}},
            CPU_LAYOUT_PANELS_BFLOAT16, 64 * 192 * 2},
        {"FusedMatMulBFloat16", "{}", 1, DTYPE_BFLOAT16, {2, {9, 70}}, CPU_LAYOUT_PAIRS_BFLOAT16,
            10 * 80 * 2},
        {"FusedMatMulInt8", "{}", 1, DTYPE_INT8, {2, {9, 70}}, int8->layout,
            int8->layout == CPU_LAYOUT_QUADS_INT8 ? 5 * (12 * 16 + 64) : 10 * 80},
        {"DynamicQuantizeLSTM", "{}", 2, DTYPE_UINT8, {3, {2, 9, 70}}, int8->layout,
            2 * (int8->layout == CPU_LAYOUT_QUADS_INT8 ? 5 * (12 * 16 + 64) : 10 * 80)},
        {"DynamicQuantizeLSTM", "{}", 3, DTYPE_FLOAT32, {2, {2, 70}}, CPU_LAYOUT_PLAIN, 0},
        {"FusedMatMulInt8", "{}", 1, DTYPE_INT8, {2, {0, 70}}, CPU_LAYOUT_PLAIN, 0},
        {"FusedMatMulInt8", "{}", 2, DTYPE_FLOAT32, {1, {70}}, CPU_LAYOUT_PLAIN, 0},
        {"FusedConvBFloat16", "{}", 1, DTYPE_BFLOAT16, {4, {70, 4, 3, 1}},
            CPU_LAYOUT_PAIRS_BFLOAT16, 12 * 80 * 2},
        {"FusedConvInt8", "{}", 1, DTYPE_INT8, {4, {70, 4, 3, 1}}, int8->layout,
            int8->layout == CPU_LAYOUT_QUADS_INT8 ? 5 * (12 * 16 + 64) : 12 * 80},
        {"FusedConvInt8", "{}", 1, DTYPE_INT8, {4, {70, 3, 3, 1}}, CPU_LAYOUT_PLAIN, 0},
        {"Add", "{}", 1, DTYPE_FLOAT32, {2, {64, 64}}, CPU_LAYOUT_PLAIN, 0},
        {"FusedConv", "{channels_last=1, group=2}", 1, DTYPE_FLOAT32, {4, {6, 5, 2, 2}},
            CPU_LAYOUT_CONV_LAST, 2 * 16 * 20 * 4},
        {"FusedConv", "{channels_last=1, group=6}", 1, DTYPE_FLOAT32, {4, {6, 1, 2, 2}},
            CPU_LAYOUT_DEPTHWISE, 6 * 4 * 4},
        {"Conv", "{}", 1, DTYPE_FLOAT32, {3, {9, 5, 2}}, CPU_LAYOUT_CONV_LAST, 16 * 10 * 4},
        {"Conv", "{}", 1, DTYPE_FLOAT32, {3, {9, 5, 1}}, CPU_LAYOUT_PLAIN, 0},
        {"Conv", "{}", 1, DTYPE_FLOAT32, {3, {7, 5, 2}}, CPU_LAYOUT_PLAIN, 0},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) check_rule(&rules[i]);
}

static void test_pack_refuses_a_layout_that_is_not_the_rules(void **state) {
    (void)state;
    Attributes *attributes = NULL;
    const char *text = "{}";
    const OperatorInfo *info = operator_find("MatMul");
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, info));
    const float plain[64] = {0};
    float packed[64];
    const PackRequest request = {info, attributes, 1, {true, DTYPE_FLOAT32, 0, {2, {1, 64}}}};
    assert_fails_saying(INVALID, "MatMul: input 1 is not packed in layout 99",
        cpu_pack(kernel_cpu_device(), NULL, &request, 99, plain, (uint64_t)(uintptr_t)packed));
    assert_ok(cpu_pack(kernel_cpu_device(), NULL, &request, CPU_LAYOUT_PANELS, plain,
        (uint64_t)(uintptr_t)packed));
    attributes_release(attributes);
}

int test_cpu_pack(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack_rule_looks_at_the_constant_alone),
        cmocka_unit_test(test_pack_refuses_a_layout_that_is_not_the_rules),
    };
    return cmocka_run_group_tests_name("cpu_pack", tests, NULL, NULL);
}
