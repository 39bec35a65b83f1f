#include "tests/compiler/compiler_fixtures.h"

#include "compiler/compile.h"

static void test_lower_precision_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("lower_precision");
}

/* Each product is counted once, under what became of it. */
static void test_lower_precision_counts_what_it_left(void **state) {
    (void)state;
    static const char text[] =
        "function @main(%0 \"x\": float32[n, 16], %1 \"i\": float32[1, 16, 8, 8]) {\n"
        "  %2 = MatMul(%0, float32[16, 16]{#1})\n"
        "  %3 = MatMul(%2, float32[16, 4]{#2})\n"
        "  %4 = Gemm(%0, %2) {transA=1}\n"
        "  %5 = MatMul(%0, float32[2, 16, 16]{#3})\n"
        "  %6 = Conv(%1, float32[16, 16, 3, 3]{#4})\n"
        "  %7 = MatMul(%3, float32[4, 16]{#5})\n"
        "  %8 = Conv(%1, float32[16, 8, 3, 3]{#6}) {group=2}\n"
        "  -> %4, %5, %6, %7, %8\n"
        "}\n";
    static const char *const names[] = {"bf16", "int8", "fp32"};
    for (int i = 0; i < 3; i++) {
        PrecisionReport report = {0};
        CompileOptions options = {.folder = NULL, .precision = names[i], .report = &report};
        OWN(IrModule, module) = module_parse(text);
        OWN(Executable, executable) = NULL;
        assert_ok(compile_module(module, &options, &executable));
        assert_int_equal(report.lowered, i < 2 ? 2 : 0);
        assert_int_equal(report.left[PRECISION_LEFT_SMALL], i < 2 ? 2 : 0);
        assert_int_equal(report.left[PRECISION_LEFT_COMPUTED], i < 2 ? 1 : 0);
        assert_int_equal(report.left[PRECISION_LEFT_FORM], i < 2 ? 1 : 0);
        assert_int_equal(report.left[PRECISION_LEFT_CONVOLUTION], i < 2 ? 1 : 0);
    }
}

/* Networks with weights of their own become such of bfloat16; at int8 they stay. */
static void test_lower_precision_takes_recurrent_networks(void **state) {
    (void)state;
    static const char text[] =
        "function @main(%0 \"x\": float32[n, 2, 16], %1 \"r\": float32[1, 64, 16]) {\n"
        "  %2, %3, %4 = LSTM(%0, float32[1, 64, 16]{#1}, float32[1, 64, 16]{#2})\n"
        "  %5, %6 = GRU(%0, float32[1, 48, 16]{#3}, float32[1, 48, 16]{#4}) "
        "{linear_before_reset=1}\n"
        "  %7 = RNN(%0, float32[1, 16, 16]{#5}, float32[1, 16, 16]{#6})\n"
        "  %8 = LSTM(%0, float32[1, 64, 16]{#1}, %1)\n"
        "  %9 = LSTM(%0, float32[1, 32, 16]{#7}, float32[1, 32, 8]{#8})\n"
        "  -> %2, %4, %5, %6, %7, %8, %9\n"
        "}\n";
    for (int int8 = 0; int8 < 2; int8++) {
        PrecisionReport report = {0};
        CompileOptions options = {
            .folder = NULL, .precision = int8 ? "int8" : "bf16", .report = &report};
        OWN(IrModule, module) = module_parse(text);
        OWN(Executable, executable) = NULL;
        assert_ok(compile_module(module, &options, &executable));
        assert_int_equal(report.lowered, int8 ? 0 : 3);
        assert_int_equal(report.left[PRECISION_LEFT_RECURRENT], int8 ? 5 : 0);
        assert_int_equal(report.left[PRECISION_LEFT_COMPUTED], int8 ? 0 : 1);
        assert_int_equal(report.left[PRECISION_LEFT_SMALL], int8 ? 0 : 1);
        uint32_t found = 0;
        for (uint32_t i = 0; i < executable->primitive_count; i++) {
            const OperatorId id = executable->primitives[i].operator_info->id;
            found += id == OPERATOR_LSTM_BFLOAT16 || id == OPERATOR_GRU_BFLOAT16 ||
                     id == OPERATOR_RNN_BFLOAT16;
        }
        assert_int_equal(found, int8 ? 0 : 3);
    }
}

int test_lower_precision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_precision_gives_what_its_golden_files_say),
        cmocka_unit_test(test_lower_precision_counts_what_it_left),
        cmocka_unit_test(test_lower_precision_takes_recurrent_networks),
    };
    return cmocka_run_group_tests_name("lower_precision", tests, NULL, NULL);
}
