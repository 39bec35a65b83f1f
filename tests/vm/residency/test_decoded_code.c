#include "tests/vm/vm_fixture.h"
#include "vm/residency/decoded_code.h"

static void test_decoded_code_resolves_operands(void **state) {
    (void)state;
    VmMachine machine = vm_machine("constant @c = int 9\nfunction f(1) {\na: If r0!, @c, b, a2\n"
                                   "a2: Goto c\nb: Ret 5\nc: Ret 6\n}\n",
        "cpu");
    const DecodedFunction *function, *again;
    assert_ok(decoded_code_get(machine.residency->decoded, 0, &function));
    const DecodedOperand *operands = function->instructions[0].operands;
    assert_null(operands[0].constant);
    assert_int_equal(operands[1].constant->integer, 9);
    assert_int_equal(operands[2].index, 2);
    assert_int_equal(operands[3].index, 1);
    assert_int_equal(function->instructions[0].jump, 2);
    assert_int_equal(function->instructions[0].jump_otherwise, 1);
    assert_true(function->instructions[0].last_uses);
    assert_int_equal(function->instructions[1].operands[0].index, 3);
    assert_int_equal(function->instructions[1].jump, 2);
    assert_false(function->instructions[1].last_uses);
    assert_int_equal(function->instructions[2].operands[0].constant->integer, 5);
    assert_ok(decoded_code_get(machine.residency->decoded, 0, &again));
    assert_ptr_equal(function, again);
    vm_machine_deinit(&machine);
}

/* What executions side by side leave is their successors'; each has its own meanwhile. */
static void test_decoded_code_hands_caches_on(void **state) {
    (void)state;
    VmMachine machine = vm_machine("function f(1) {\nRet r0\n}\n", "cpu");
    enum { MORE_THAN_KEPT = 40 };
    InlineCache *first, *second, *third, *fourth, *many[MORE_THAN_KEPT];
    DecodedCode *code = machine.residency->decoded;
    assert_ok(decoded_code_take_sites(code, 0, &first));
    assert_ok(decoded_code_take_sites(code, 0, &second));
    assert_ptr_not_equal(first, second);
    decoded_code_leave_sites(code, 0, first);
    decoded_code_leave_sites(code, 0, second);
    decoded_code_leave_sites(code, 0, NULL);
    assert_ok(decoded_code_take_sites(code, 0, &third));
    assert_ok(decoded_code_take_sites(code, 0, &fourth));
    assert_true((third == first && fourth == second) || (third == second && fourth == first));
    decoded_code_leave_sites(code, 0, third);
    decoded_code_leave_sites(code, 0, fourth);
    for (int i = 0; i < MORE_THAN_KEPT; i++) assert_ok(decoded_code_take_sites(code, 0, &many[i]));
    for (int i = 0; i < MORE_THAN_KEPT; i++) decoded_code_leave_sites(code, 0, many[i]);
    vm_machine_deinit(&machine);
}

int test_decoded_code(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded_code_resolves_operands),
        cmocka_unit_test(test_decoded_code_hands_caches_on),
    };
    return cmocka_run_group_tests_name("decoded_code", tests, NULL, NULL);
}
