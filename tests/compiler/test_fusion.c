#include "compiler/passes/fusion.h"
#include "tests/compiler/compiler_fixtures.h"

static const char text[] = "function @main(%0 \"x\": float32[n, 4], %1: float32[4], %2: int) {\n"
                           "  %3: float32[n, 4] = Neg(%0)\n"
                           "  %4: float32[n, 4] = Abs(%3)\n"
                           "  %5: float32[n, 4] = Exp(%4)\n"
                           "  %6: float32[n, 4] = Add(%5, %4)\n"
                           "  -> %6\n"
                           "}\n";

/* Exp(Abs(Neg(x))) as a Relu: Exp goes, Abs stays for its other user. */
static Error *rule(Fusion *fusion, IrBinding *binding) {
    if (binding->operator_info->id != OPERATOR_EXP) return NULL;
    const IrBinding *abs = fusion_maker(binding, fusion_operand(binding, 0), OPERATOR_ABS);
    assert_non_null(abs);
    assert_null(fusion_sole_maker(fusion, binding, abs->results[0], OPERATOR_ABS));
    IrBinding *neg = fusion_sole_maker(fusion, abs, fusion_operand(abs, 0), OPERATOR_NEG);
    assert_non_null(neg);
    IrVariable *x = fusion_operand(neg, 0);
    return fusion_replace(fusion, binding, "Relu", NULL, 1, &x);
}

static void test_fusion_replaces_and_removes_what_nobody_uses(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    PassContext context = {.module = module};
    assert_ok(fusion_run(&context, rule));
    assert_ok(ir_check(module, true));
    IrBinding *add = module->functions[0]->body->last;
    assert_int_equal(add->operands[0]->binding->operator_info->id, OPERATOR_RELU);
    assert_int_equal(add->operands[1]->binding->operator_info->id, OPERATOR_ABS);
    assert_true(fusion_same_shape(&add->operands[0]->type, &add->operands[1]->type));
}

static uint32_t seen[8], seen_count;
static Error *see(Fusion *fusion, IrBinding *binding) {
    (void)fusion;
    seen[seen_count++] = (uint32_t)binding->operator_info->id;
    return NULL;
}

static void test_fusion_goes_both_ways(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    PassContext context = {.module = module};
    seen_count = 0;
    assert_ok(fusion_run(&context, see));
    assert_ok(fusion_run_backwards(&context, see));
    assert_int_equal(seen_count, 8);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(seen[i], seen[7 - i]);
}

static void test_fusion_knows_what_broadcasts(void **state) {
    (void)state;
    IrType matrix = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(0), 4});
    IrType row = ir_type_shaped(DTYPE_FLOAT32, 1, (int64_t[]){4});
    IrType column = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(0), 1});
    IrType other = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){ir_dim_symbol(1), 4});
    IrType unknown = ir_type_shaped(DTYPE_FLOAT32, 2, (int64_t[]){IR_DIM_UNKNOWN, 4});
    assert_true(fusion_broadcasts(&row, &matrix));
    assert_true(fusion_broadcasts(&column, &matrix));
    assert_false(fusion_broadcasts(&other, &matrix));
    assert_false(fusion_broadcasts(&matrix, &row));
    assert_false(fusion_broadcasts(&unknown, &unknown));
    assert_false(fusion_same_shape(&unknown, &unknown));
}

int test_fusion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fusion_replaces_and_removes_what_nobody_uses),
        cmocka_unit_test(test_fusion_goes_both_ways),
        cmocka_unit_test(test_fusion_knows_what_broadcasts),
    };
    return cmocka_run_group_tests_name("fusion", tests, NULL, NULL);
}
