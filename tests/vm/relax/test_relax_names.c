#include "tests/vm/relax/relax_case_runner.h"
#include "tests/vm/vm_fixture.h"
#include "vm/relax/relax_names.h"

static void test_relax_names_need_an_execution(void **state) {
    (void)state;
    PackedCall call = {0};
    const Value *found;
    Value value = value_int(1);
    assert_fails(INVALID, relax_names_find(&call, RELAX_NAME_TENSOR, "a", &found));
    assert_fails(INVALID, relax_names_set(&call, RELAX_NAME_TENSOR, "a", &value));
    assert_fails(INVALID, relax_names_remove(&call, RELAX_NAME_TENSOR, NULL));
}

static void test_relax_names_are_kept_apart_by_their_prefix(void **state) {
    (void)state;
    VmMachine machine = vm_machine("function f() exported {\n Ret 1\n}\n", "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    PackedCall call = {.execution = execution};
    const Value *found;
    Value one = value_int(1), two = value_int(2);
    assert_ok(relax_names_set(&call, RELAX_NAME_TENSOR, "a", &one));
    assert_ok(relax_names_set(&call, RELAX_NAME_FUNCTION, "a", &two));
    assert_ok(relax_names_set(&call, RELAX_NAME_TENSOR, "b", &two));
    assert_ok(relax_names_find(&call, RELAX_NAME_TENSOR, "a", &found));
    assert_int_equal(found->integer, 1);
    assert_ok(relax_names_remove(&call, RELAX_NAME_TENSOR, "a"));
    assert_ok(relax_names_find(&call, RELAX_NAME_TENSOR, "a", &found));
    assert_null(found);
    assert_ok(relax_names_find(&call, RELAX_NAME_TENSOR, "b", &found));
    assert_int_equal(found->integer, 2);
    assert_ok(relax_names_remove(&call, RELAX_NAME_TENSOR, NULL));
    assert_ok(relax_names_find(&call, RELAX_NAME_TENSOR, "b", &found));
    assert_null(found);
    assert_ok(relax_names_find(&call, RELAX_NAME_FUNCTION, "a", &found));
    assert_int_equal(found->integer, 2);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_relax_names_refuse_long_names(void **state) {
    (void)state;
    VmMachine machine = vm_machine("function f() exported {\n Ret 1\n}\n", "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    PackedCall call = {.execution = execution};
    static char name[1100];
    memset(name, 'n', sizeof name - 1);
    Value one = value_int(1);
    assert_fails_saying(
        INVALID, "a name of 1100 bytes", relax_names_set(&call, RELAX_NAME_TENSOR, name, &one));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_relax_names(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_names_need_an_execution),
        cmocka_unit_test(test_relax_names_are_kept_apart_by_their_prefix),
        cmocka_unit_test(test_relax_names_refuse_long_names),
    };
    return cmocka_run_group_tests_name("relax_names", tests, NULL, NULL);
}
