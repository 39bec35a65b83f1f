#include <stdio.h>

#include "tests/vm/program_runner.h"
#include "tests/vm/vm_fixture.h"

static const char PROGRAM[] =
    "packed vm.builtin.debug_print(0)\npacked vm.builtin.invoke_debug_func(0)\n"
    "packed vm.builtin.alloc_storage(0)\npacked vm.builtin.alloc_tensor(0)\n"
    "primitive %relu = Relu\n"
    "constant @x = float32[2, 2] {1, -2, 0.5, 3}\n"
    "constant @many = int8[17] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\n"
    "constant @place = string \"model.py:12\"\nconstant @other = string \"a\\nb\"\n"
    "constant @print = string \"vm.builtin.debug_print\"\nconstant @four = shape [4]\n"
    "constant @type = dtype float32\nconstant @scope = string \"global\"\n"
    "function f() exported {\n"
    " KillRegister -> r9\n InvokePacked %relu @x -> r0\n"
    " Call &vm.builtin.debug_print, @place, r0\n"
    " Call &vm.builtin.debug_print, @many, 7, r9, @four\n"
    " Call &vm.builtin.debug_print\n"
    " AllocADT 0, 1, r0 -> r1\n"
    " Call &vm.builtin.debug_print, r1, @other\n"
    " Call &vm.builtin.alloc_storage, r9, @four, 0, @type, @scope -> r2\n"
    " Call &vm.builtin.alloc_tensor, r2, 0, @four, @type -> r3\n"
    " Call &vm.builtin.invoke_debug_func, r9, @print, @place, r3\n"
    " Ret r0\n}\n";

static const char EXPECTED[] =
    "model.py:12: shape = (2, 2), dtype = float32, data = [1, 0, 0.5, 3]\n"
    "shape = (17,), dtype = int8, data = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
    "...], 7, nil, shape [4]\n"
    "\n"
    "(1, tensor float32[2, 2]), a?b\n"
    "model.py:12: shape = (4,), dtype = float32, unwritten\n";

typedef struct Lines {
    char text[2048];
} Lines;

static void keep(void *context, const char *line) {
    Lines *lines = context;
    const size_t used = strlen(lines->text);
    (void)snprintf(lines->text + used, sizeof lines->text - used, "%s\n", line);
}

/* Also with a snapshot between any two instructions each line comes once. */
static void test_relax_print_gives_each_line_once(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0"};
    for (uint32_t i = 0; i < 4; i++) {
        Lines lines = {{0}};
        VmMachine machine = vm_machine(PROGRAM, devices[i % 2]);
        const ExecutionOptions options = {.log = {keep, &lines}};
        const ProgramRun run = {.residencies = &machine.residency,
            .residency_count = 1,
            .options = &options,
            .step = i / 2,
            .through = program_through_snapshot};
        ProgramOutcome outcome;
        uint32_t function;
        assert_ok(executable_find_function(machine.executable, "f", &function));
        program_run(&run, function, &outcome);
        assert_false(outcome.failed);
        assert_string_equal(lines.text, EXPECTED);
        program_outcome_deinit(&outcome);
        vm_machine_deinit(&machine);
    }
}

static void test_relax_print_needs_no_log(void **state) {
    (void)state;
    VmMachine machine = vm_machine(PROGRAM, "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    assert_true(value_is(execution_get_result(execution), OBJECT_TENSOR));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_relax_print(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_print_gives_each_line_once),
        cmocka_unit_test(test_relax_print_needs_no_log),
    };
    return cmocka_run_group_tests_name("relax_print", tests, NULL, NULL);
}
