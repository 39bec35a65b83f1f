#include "compiler/ir/ir.h"
#include "tests/compiler/compiler_fixtures.h"

static const char text[] = "function @main(%0: int, %1 \"x\": float32[2]) {\n"
                           "  %2 = if(%0) {\n"
                           "    %3 = Neg(%1)\n"
                           "    -> %3\n"
                           "  } else {\n"
                           "    -> %1\n"
                           "  }\n"
                           "  %4 = Relu(%2)\n"
                           "  -> %4\n"
                           "}\n";

static void test_ir_check_finds_uses_out_of_sight(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    IrBlock *body = module->functions[0]->body;
    IrBinding *branch = body->first;
    IrVariable *inside = branch->blocks[0]->results[0];
    body->last->operands[0] = inside; /* of a block that has ended */
    assert_fails_saying(INTERNAL, "not visible", ir_check(module, true));
    body->last->operands[0] = branch->results[0];
    branch->blocks[1]->results[0] = body->last->results[0]; /* made later */
    assert_fails_saying(INTERNAL, "not visible", ir_check(module, true));
}

static void test_ir_check_finds_wrong_counts(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    IrBinding *branch = module->functions[0]->body->first;
    branch->blocks[0]->result_count = 0;
    assert_fails_saying(INTERNAL, "0 results instead of 1", ir_check(module, true));
    branch->blocks[0]->result_count = 1;
    branch->operand_count = 0;
    assert_fails_saying(INTERNAL, "0 operands", ir_check(module, true));
}

static void test_ir_check_lets_only_local_functions_see_others(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse("function @main(%0: float32[2]) {\n"
                                         "  %1 = call @local.1()\n"
                                         "  -> %1\n"
                                         "}\n"
                                         "function @local.1() in @main {\n"
                                         "  %2 = Neg(%0)\n"
                                         "  -> %2\n"
                                         "}\n");
    assert_fails_saying(INTERNAL, "belongs to function main", ir_check(module, true));
    module->functions[1]->outer = NULL;
    assert_fails_saying(INTERNAL, "belongs to function main", ir_check(module, false));
}

int test_ir_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_check_finds_uses_out_of_sight),
        cmocka_unit_test(test_ir_check_finds_wrong_counts),
        cmocka_unit_test(test_ir_check_lets_only_local_functions_see_others),
    };
    return cmocka_run_group_tests_name("ir_check", tests, NULL, NULL);
}
