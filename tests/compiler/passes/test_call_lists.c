#include "compiler/passes/call_lists.h"
#include "tests/compiler/compiler_fixtures.h"

static const char text[] = "function @main(%0: float32[2], %1: bool) {\n"
                           "  %2: float32[2] = call @once(%0)\n"
                           "  %3: float32[2] = if(%1) {\n"
                           "    %4: float32[2] = call @loop(%2, %1)\n"
                           "    -> %4\n"
                           "  } else {\n"
                           "    %5: float32[2] = call @loop(%0, %1)\n"
                           "    -> %5\n"
                           "  }\n"
                           "  -> %3\n"
                           "}\n"
                           "function @once(%6: float32[2]) {\n"
                           "  -> %6\n"
                           "}\n"
                           "function @loop(%7: float32[2], %8: bool) {\n"
                           "  %9: float32[2] = if(%8) {\n"
                           "    %10: float32[2] = call @loop(%7, %8)\n"
                           "    -> %10\n"
                           "  } else {\n"
                           "    -> %7\n"
                           "  }\n"
                           "  -> %9\n"
                           "}\n";

static void test_call_lists_have_all_calls_in_program_order(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(text);
    CallLists OWN_CALLS(lists) = {0};
    IrFunction *const *functions = module->functions;
    size_t count;
    assert_ok(call_lists_init(module, &lists));
    (void)call_lists_get(&lists, functions[0], &count);
    assert_int_equal(count, 0);
    IrBinding *const *calls = call_lists_get(&lists, functions[1], &count);
    assert_int_equal(count, 1);
    assert_ptr_equal(calls[0], functions[0]->body->first);
    calls = call_lists_get(&lists, functions[2], &count);
    assert_int_equal(count, 3);
    const IrBinding *branch = functions[0]->body->last;
    assert_ptr_equal(calls[0], branch->blocks[0]->first);
    assert_ptr_equal(calls[1], branch->blocks[1]->first);
    assert_ptr_equal(calls[2]->block->function, functions[2]);
    assert_false(call_lists_calls_itself(&lists, functions[0]));
    assert_false(call_lists_calls_itself(&lists, functions[1]));
    assert_true(call_lists_calls_itself(&lists, functions[2]));
    for (size_t f = 0; f < 3; f++) assert_false(lists.is_closure[f]);
}

int test_call_lists(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_lists_have_all_calls_in_program_order),
    };
    return cmocka_run_group_tests_name("call_lists", tests, NULL, NULL);
}
