#include "tests/compiler/compiler_fixtures.h"

static void test_integers_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("integers_pass");
}

/* Parses a function in whose text W stands for int8[3, 2048] codes, and runs the pass. */
static IrModule *run_with_codes(const char *before, const char *after) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(
        &text, "function @main(%%0: float32[2048, 3], %%1: int64[2]) {\n%sint8[3, 2048]{", before);
    for (int i = 0; i < 3 * 2048; i++) text_appendf(&text, i ? ", %d" : "%d", i % 100 - 50);
    text_appendf(&text, "}%s}\n", after);
    IrModule *module = module_parse(text_builder_get(&text));
    module_run_pass(module, "infer_shapes");
    module_run_pass(module, "merge_common");
    module_run_pass(module, "integers");
    return module;
}

/* A sum with floats has no form of integers: the weights are not dequantized in each run. */
static void test_integers_dequantizes_weights_that_it_does_not_use(void **state) {
    (void)state;
    OWN(IrModule, module) =
        run_with_codes("  %2 = DequantizeLinear(", ", float32[]{0.5}, int8[]{1})\n"
                                                   "  %3 = MatMul(%0, %2)\n"
                                                   "  -> %3\n");
    const IrBinding *product = module->functions[0]->body->first;
    assert_int_equal(product->operator_info->id, OPERATOR_MATMUL);
    const Tensor *weights = ir_variable_tensor(product->operands[1]);
    assert_non_null(weights);
    assert_int_equal(weights->dtype, DTYPE_FLOAT32);
    for (int i = 0; i < 3 * 2048; i++)
        assert_true(((const float *)tensor_data(weights))[i] == 0.5F * (float)(i % 100 - 51));
}

/* Codes that one operator gathers and another one reads transposed are there in both forms. */
static void test_integers_transposes_codes_that_others_read_too(void **state) {
    (void)state;
    OWN(IrModule, module) =
        run_with_codes("  %2 = DequantizeLinear(", ", float32[]{0.5}, int8[]{1})\n"
                                                   "  %3 = Gather(%2, %1) {axis=0}\n"
                                                   "  %4 = Transpose(%2) {perm=[1, 0]}\n"
                                                   "  %5 = Add(%0, %4)\n"
                                                   "  %6 = MatMul(%3, %5)\n"
                                                   "  -> %6\n");
    for (const IrBinding *b = module->functions[0]->body->first; b; b = b->next) {
        assert_int_not_equal(b->operator_info->id, OPERATOR_TRANSPOSE);
        if (b->operator_info->id != OPERATOR_ADD) continue;
        const Tensor *turned = ir_variable_tensor(b->operands[1]);
        assert_non_null(turned);
        assert_true(((const float *)tensor_data(turned))[3] == 0.5F * (float)(1 - 51));
    }
}

int test_integers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_gives_what_its_golden_files_say),
        cmocka_unit_test(test_integers_dequantizes_weights_that_it_does_not_use),
        cmocka_unit_test(test_integers_transposes_codes_that_others_read_too),
    };
    return cmocka_run_group_tests_name("integers", tests, NULL, NULL);
}
