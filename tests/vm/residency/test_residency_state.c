#include "tests/vm/vm_fixture.h"
#include "vm/residency/residency_state.h"

static const char CONSTANTS[] =
    "constant @d slot 1 = float32[4, 4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\n"
    "constant @h slot 0 = int64[1] {3}\nconstant @i = int 4\nprimitive %mm = MatMul\n"
    "function f(1) exported {\n InvokePacked %mm r0, @d -> r1\n Ret r1\n}\n"
    "function g() exported {\n AllocADT 0, @d, @h, @i -> r0\n Ret r0\n}\n";

static void test_residency_state_finds_only_what_it_packed(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CONSTANTS, "cpu");
    uint32_t layout = 0;
    Storage *packed = residency_find_packed(machine.residency, 0, 1, 0, &layout);
    assert_true(packed ? layout != 0 : machine.residency->packed_count == 0);
    assert_null(residency_find_packed(machine.residency, 0, 0, 0, &layout));
    assert_null(residency_find_weight(machine.residency, 0, 1, 1));
    vm_machine_deinit(&machine);
}

int test_residency_state(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residency_state_finds_only_what_it_packed),
    };
    return cmocka_run_group_tests_name("residency_state", tests, NULL, NULL);
}
