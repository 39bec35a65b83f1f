#include "compiler/ir/ir_clone.h"
#include "compiler/ir/ir_print.h"
#include "compiler/ir/ir_walk.h"
#include "tests/compiler/compiler_fixtures.h"

static void test_ir_clone_copies_a_body_with_its_branches(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse("function @main(%0: int, %1: float32[2]) {\n"
                                         "  %2 = call @choose.1(%0, %1)\n"
                                         "  -> %2\n"
                                         "}\n"
                                         "function @choose.1(%3: int, %4) {\n"
                                         "  %5 = if(%3) {\n"
                                         "    %6 = LeakyRelu(%4) {alpha=0.5}\n"
                                         "    -> %6\n"
                                         "  } else {\n"
                                         "    -> %4\n"
                                         "  }\n"
                                         "  -> %5\n"
                                         "}\n");
    IrBinding *call = module->functions[0]->body->first;
    assert_ok(ir_clone_body(module->functions[1], ir_before(call), call->operands, call->results));
    ir_remove(call);
    ir_replace_all(module);
    module->function_count = 1;
    assert_ok(ir_check(module, true));
    TextBuilder OWN_TEXT(printed) = {0};
    assert_ok(ir_print_module(module, &printed));
    assert_string_equal(text_builder_get(&printed), "function @main(%0: int, %1: float32[2]) {\n"
                                                    "  %2 = if(%0) {\n"
                                                    "    %3 = LeakyRelu(%1) {alpha=0.5}\n"
                                                    "    -> %3\n"
                                                    "  } else {\n"
                                                    "    -> %1\n"
                                                    "  }\n"
                                                    "  -> %2\n"
                                                    "}\n");
}

int test_ir_clone(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_clone_copies_a_body_with_its_branches),
    };
    return cmocka_run_group_tests_name("ir_clone", tests, NULL, NULL);
}
