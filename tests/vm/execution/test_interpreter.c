#include <pthread.h>

#include "tests/vm/vm_fixture.h"
#include "vm/execution/interpreter.h"
#include "vm/residency/interpreter_labels.h"
#include "vm/instruction/opcode.h"

static void test_interpreter_has_a_handler_for_every_opcode(void **state) {
    (void)state;
    const void *const *labels = interpreter_labels();
    if (!labels) return; /* the switch: the compiler checks it */
    for (uint32_t i = 0; i < OPCODE_TABLE_SIZE; i++)
        assert_true((labels[i] != NULL) == (opcode_infos[i].mnemonic != NULL));
}

/* Asking from another thread ends an endless loop. */
static void *ask(void *context) {
    execution_request_slice_end(context);
    return NULL;
}
static void test_interpreter_looks_at_the_flag_in_a_loop(void **state) {
    (void)state;
    VmMachine machine = vm_machine("function f() exported {\na: Goto a\n}\n", "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, execution), 0);
    assert_int_equal(vm_run(execution, 0), RUN_SLICE_ENDED);
    (void)pthread_join(thread, NULL);
    execution_request_suspend(execution);
    assert_int_equal(vm_run(execution, 0), RUN_SUSPENDED);
    assert_int_equal(vm_run(execution, 1000), RUN_SUSPENDED);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_interpreter(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpreter_has_a_handler_for_every_opcode),
        cmocka_unit_test(test_interpreter_looks_at_the_flag_in_a_loop),
    };
    return cmocka_run_group_tests_name("interpreter", tests, NULL, NULL);
}
