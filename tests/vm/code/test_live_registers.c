#include "tests/vm/vm_fixture.h"
#include "vm/code/live_registers.h"

static void test_live_registers_are_walked_in_order(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_append(
        &text, "function f(200) {\n AllocADT 0, r0, r63, r64, r127, r199 -> r1\n Ret r1\n}\n");
    Executable *executable = vm_parse(text_builder_get(&text));
    LiveRegisters *live;
    assert_ok(live_registers_create(executable, &live));
    assert_ok(live_registers_find(live, 0, 0, true));
    const uint32_t expected[] = {0, 63, 64, 127, 199, 200};
    uint32_t at = live_registers_next(live, 0);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(at, expected[i]);
        at = live_registers_next(live, at + 1);
    }
    assert_ok(live_registers_find(live, 0, 1, true));
    assert_int_equal(live_registers_next(live, 0), 1);
    live_registers_release(live);
    executable_release(executable);
}

static void test_live_registers_of_a_waiting_caller(void **state) {
    (void)state;
    Executable *executable = vm_parse(
        "function f(2) {\n Invoke &f, r0, r1 -> r0\n AllocADT 0, r0, r1 -> r0\n Ret r0\n}\n");
    LiveRegisters *live;
    assert_ok(live_registers_create(executable, &live));
    assert_ok(live_registers_find(live, 0, 0, false));
    assert_int_equal(live_registers_next(live, 0), 1);
    assert_int_equal(live_registers_next(live, 2), 2);
    live_registers_release(live);
    executable_release(executable);
}

int test_live_registers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_registers_are_walked_in_order),
        cmocka_unit_test(test_live_registers_of_a_waiting_caller),
    };
    return cmocka_run_group_tests_name("live_registers", tests, NULL, NULL);
}
