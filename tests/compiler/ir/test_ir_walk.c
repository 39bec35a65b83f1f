#include "compiler/ir/ir_walk.h"
#include "base/allocator.h"
#include "compiler/ir/ir_build.h"
#include "tests/compiler/compiler_fixtures.h"

static const char text[] = "function @main(%0: int, %1 \"x\": float32[2]) {\n"
                           "  %2 = Neg(%1)\n"
                           "  %3 = if(%0) {\n"
                           "    %4 = if(%0) {\n"
                           "      -> %2\n"
                           "    } else {\n"
                           "      %5 = Abs(%2)\n"
                           "      -> %5\n"
                           "    }\n"
                           "    -> %4\n"
                           "  } else {\n"
                           "    %6 = Exp(%1)\n"
                           "    -> %6\n"
                           "  }\n"
                           "  %7 = Relu(%3)\n"
                           "  -> %7\n"
                           "}\n";

static void test_ir_walk_goes_over_bindings_in_program_order(void **state) {
    (void)state;
    static const IrKind kinds[] = {
        IR_OPERATOR, IR_IF, IR_IF, IR_OPERATOR, IR_OPERATOR, IR_OPERATOR};
    OWN(IrModule, module) = module_parse(text);
    uint32_t count = 0;
    IrBinding *binding = ir_walk_first(module->functions[0]->body), *outer = NULL;
    for (; binding; binding = ir_walk_next(binding)) {
        assert_int_equal(binding->kind, kinds[count]);
        if (count == 1) outer = binding;
        count++;
    }
    assert_int_equal(count, 6);
    assert_ptr_equal(ir_walk_over(outer), module->functions[0]->body->last);
}

static void test_ir_walk_goes_back_the_way_it_came(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    const IrBlock *body = module->functions[0]->body;
    uint32_t count = 0;
    IrBinding *binding = ir_walk_last(body);
    assert_null(ir_walk_next(binding));
    for (; binding; binding = ir_walk_previous(binding), count++) {
        IrBinding *previous = ir_walk_previous(binding);
        if (previous) assert_ptr_equal(ir_walk_next(previous), binding);
        if (!previous) assert_ptr_equal(binding, ir_walk_first(body));
    }
    assert_int_equal(count, 6);
}

static void test_ir_walk_counts_uses_and_replaces(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    IrBlock *body = module->functions[0]->body;
    IrVariable *x = body->parameters[1], *negated = body->first->results[0];
    void *counts;
    assert_ok(ir_side_table(module, sizeof(uint32_t), &counts));
    ir_count_uses(module, counts);
    assert_int_equal(((uint32_t *)counts)[x->id], 2);
    assert_int_equal(((uint32_t *)counts)[negated->id], 2);
    negated->replacement = x;
    assert_ptr_equal(ir_resolve(negated), x);
    ir_replace_all(module);
    ir_count_uses(module, counts);
    assert_int_equal(((uint32_t *)counts)[x->id], 4);
    assert_int_equal(((uint32_t *)counts)[negated->id], 0);
    memory_free(counts);
    ir_remove(negated->binding);
    assert_ok(ir_check(module, true));
}

static void test_ir_walk_moves_the_bindings_of_a_block(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    IrBlock *body = module->functions[0]->body;
    IrBinding *branch = body->first->next;
    IrBlock *taken = branch->blocks[1];
    branch->results[0]->replacement = taken->results[0];
    ir_move_bindings(taken, body, branch);
    ir_remove(branch);
    ir_replace_all(module);
    assert_ok(ir_update_depths(module));
    assert_ok(ir_check(module, true));
}

static void test_ir_walk_knows_functions_with_effects(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse("function @main(%0: int) {\n"
                                         "  %1: int = call @far.1(%0)\n"
                                         "  -> %1\n"
                                         "}\n"
                                         "function @far.1(%2: int) {\n"
                                         "  %3: int = call @near.2(%2)\n"
                                         "  -> %3\n"
                                         "}\n"
                                         "function @near.2(%4: int) {\n"
                                         "  yield(%4)\n"
                                         "  -> %4\n"
                                         "}\n"
                                         "function @pure.3(%5: int) {\n"
                                         "  -> %5\n"
                                         "}\n");
    bool pure[4];
    ir_find_pure_functions(module, pure);
    assert_false(pure[0]);
    assert_false(pure[1]);
    assert_false(pure[2]);
    assert_true(pure[3]);
}

int test_ir_walk(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_walk_goes_over_bindings_in_program_order),
        cmocka_unit_test(test_ir_walk_goes_back_the_way_it_came),
        cmocka_unit_test(test_ir_walk_counts_uses_and_replaces),
        cmocka_unit_test(test_ir_walk_moves_the_bindings_of_a_block),
        cmocka_unit_test(test_ir_walk_knows_functions_with_effects),
    };
    return cmocka_run_group_tests_name("ir_walk", tests, NULL, NULL);
}
