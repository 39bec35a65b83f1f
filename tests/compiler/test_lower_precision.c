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
        CompileOptions options = {
            .directory_descriptor = -1, .precision = names[i], .report = &report};
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

int test_lower_precision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_precision_gives_what_its_golden_files_say),
        cmocka_unit_test(test_lower_precision_counts_what_it_left),
    };
    return cmocka_run_group_tests_name("lower_precision", tests, NULL, NULL);
}
