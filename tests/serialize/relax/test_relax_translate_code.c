#include "serialize/relax/relax_translate.h"
#include "tests/serialize/relax_example.h"
#include "tests/vm/vm_fixture.h"
#include "kernels/registry/device_registry.h"
#include "vm/assembly/assembly.h"

/* The code of function `name` of the translated example, as assembly. */
static void expect_code(const RelaxExample *example, const char *wanted) {
    OWN(Executable, executable) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(relax_translate(&example->file, NULL, &executable));
    assert_ok(assembly_print(executable, false, &text));
    if (!strstr(text_builder_get(&text), wanted))
        fail_msg("%s\nhas not\n%s", text_builder_get(&text), wanted);
}

static void test_relax_translate_code_makes_one_instruction_of_one(void **state) {
    (void)state;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    expect_code(&example, "    Call &fx.add, r0, r1 -> r2\n"
                          "    If.scalar r2, 0, L3, L2\n"
                          "L2:\n"
                          "    Ret r2\n"
                          "L3:\n"
                          "    Invoke &helper, r2 -> r3\n"
                          "    Ret r3\n");
    expect_code(&example, "    Goto L2\n"
                          "    Ret r1\n"
                          "L2:\n"
                          "    Ret r0\n");
}

static void test_relax_translate_code_of_special_registers(void **state) {
    (void)state;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.words[WORD_CALL_ARGUMENT] = RELAX_REGISTER_VM;
    example.words[WORD_CALL_ARGUMENT + 1] = RELAX_REGISTER_VOID;
    example.words[WORD_CALL_DESTINATION] = RELAX_REGISTER_VOID;
    example.words[WORD_IF_REGISTER] = RELAX_REGISTER_VOID;
    expect_code(&example, "    Call &fx.add, @6, r4\n"
                          "    If.scalar r4, 0, L3, L2\n");
}

/* Functions as arguments are closures that are made in front of the call; jumps take them into
 * account. */
static void test_relax_translate_code_of_function_arguments(void **state) {
    (void)state;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.words[WORD_CALL_ARGUMENT] = relax_example_argument(RELAX_ARGUMENT_FUNCTION, 1);
    example.words[WORD_CALL_ARGUMENT + 1] = relax_example_argument(RELAX_ARGUMENT_FUNCTION, 2);
    example.words[WORD_HELPER_ARGUMENT] = relax_example_argument(RELAX_ARGUMENT_FUNCTION, 1);
    expect_code(&example, "    AllocClosure &helper, last -> r5\n"
                          "    AllocClosure &fx.add, last -> r6\n"
                          "    Call &fx.add, r5!, r6! -> r2\n"
                          "    If.scalar r2, 0, L5, L4\n"
                          "L4:\n"
                          "    Ret r2\n"
                          "L5:\n"
                          "    AllocClosure &helper, last -> r5\n"
                          "    Invoke &helper, r5! -> r3\n");
}

static void test_relax_translate_code_of_builtins_that_are_instructions(void **state) {
    (void)state;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    RelaxText *name = &example.functions[EXAMPLE_ADD].name;
    *name = (RelaxText){"vm.builtin.invoke_closure", 25};
    expect_code(&example, "    InvokeClosure r1 -> r2\n");
    example.words[WORD_CALL_ARGUMENT + 1] = relax_example_argument(RELAX_ARGUMENT_IMMEDIATE, 1);
    expect_code(&example, "    Call &vm.builtin.invoke_closure, r0, 1 -> r2\n");
    *name = (RelaxText){"vm.builtin.tuple_reset_item", 27};
    expect_code(&example, "    Call &vm.builtin.tuple_reset_item, r0, 1 -> r0\n"
                          "    KillRegister -> r2\n");
    example.words[WORD_CALL_DESTINATION] = RELAX_REGISTER_VOID;
    expect_code(&example, "    Call &vm.builtin.tuple_reset_item, r0, 1 -> r0\n"
                          "    If.scalar r2, 0");
    *name = (RelaxText){"vm.builtin.make_closure", 23};
    expect_code(&example, "    Call &vm.builtin.make_closure, r0, 1\n");
    example.words[WORD_CALL_ARGUMENT] = relax_example_argument(RELAX_ARGUMENT_FUNCTION, 1);
    expect_code(&example, "    AllocClosure &helper, last, 1 -> r5\n");
}

/* The machine of an executable on cpu. */
static VmMachine machine_of(const RelaxExample *example) {
    VmMachine machine = {0};
    assert_ok(relax_translate(&example->file, NULL, &machine.executable));
    assert_ok(device_open("cpu", &machine.cpu));
    assert_ok(device_open("cpu", &machine.device));
    assert_ok(residency_create(
        machine.executable, machine.cpu, machine.device, NULL, &machine.residency));
    return machine;
}

/* helper calls itself until its frames are too many, with a parameter that it passes on. */
static void make_recursive(RelaxExample *example) {
    const int64_t words[] = {RELAX_CALL, 1, EXAMPLE_HELPER, 1, 0, RELAX_RET, 1};
    const int64_t offsets[] = {0, 5};
    relax_example_init(example, RELAX_TVM_0_23);
    memcpy(example->words, words, sizeof words);
    memcpy(example->offsets, offsets, sizeof offsets);
    example->functions[0] = example->functions[EXAMPLE_HELPER];
    example->functions[0].start = 0;
    example->functions[0].end = 2;
    example->file.function_count = 1;
    example->words[2] = 0;
    example->file.instruction_count = 2;
    example->file.word_count = 7;
}

/* Frames are on the heap: deep calls need memory, not stack. */
static void test_relax_translate_code_nests_a_million_calls(void **state) {
    (void)state;
    RelaxExample example;
    make_recursive(&example);
    VmMachine machine = machine_of(&example);
    const Value argument = value_int(7);
    RunResult result;
    ExecutionOptions options = {.depth_limit = 1000001};
    Execution *execution = vm_start(&machine, "helper", &argument, 1, &options);
    assert_fails_saying(FAILED, "calls nest deeper than 1000001 frames",
        execution_run(execution, (Budget){0}, &result));
    assert_int_equal(execution_get_depth(execution), 1000001);
    execution_release(execution);
    options.memory_limit_bytes[0] = options.memory_limit_bytes[1] = 1 << 20;
    execution = vm_start(&machine, "helper", &argument, 1, &options);
    assert_fails(EXHAUSTED, execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

/* As in TVM, a wrong count fails where the call is reached, and other functions work. */
static void test_relax_translate_code_calls_with_a_wrong_count_fail_when_reached(void **state) {
    (void)state;
    RelaxExample example;
    make_recursive(&example);
    example.words[3] = 0;
    VmMachine machine = machine_of(&example);
    const Value argument = value_int(7);
    RunResult result;
    Execution *execution = vm_start(&machine, "helper", &argument, 1, NULL);
    assert_fails_saying(
        FAILED, "helper takes 1 arguments, not 0", execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

/* A tensor is no condition in Relax, even if it has one element. */
static void test_relax_translate_code_tests_no_tensors(void **state) {
    (void)state;
    RelaxExample example;
    make_recursive(&example);
    const int64_t words[] = {RELAX_IF, 0, 2, RELAX_RET, 0, RELAX_RET, RELAX_REGISTER_VOID};
    const int64_t offsets[] = {0, 3, 5};
    memcpy(example.words, words, sizeof words);
    memcpy(example.offsets, offsets, sizeof offsets);
    example.file.instruction_count = 3;
    example.functions[0].end = 3;
    VmMachine machine = machine_of(&example);
    const int64_t one = 1;
    const Value arguments[] = {value_int(-1), value_bool(false), value_nil(), value_float(1),
        value_object(OBJECT_TENSOR, vm_ints(1, &one))};
    for (uint32_t i = 0; i < 5; i++) {
        RunResult result;
        Execution *execution = vm_start(&machine, "helper", &arguments[i], 1, NULL);
        Error *error = execution_run(execution, (Budget){0}, &result);
        if (i < 2)
            assert_ok(error);
        else
            assert_fails_saying(INVALID, "not an int or a bool", error);
        if (i < 2)
            assert_int_equal(execution_get_result(execution)->tag, i == 0 ? VALUE_INT : VALUE_NIL);
        execution_release(execution);
    }
    tensor_release(arguments[4].tensor);
    vm_machine_deinit(&machine);
}

int test_relax_translate_code(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_translate_code_makes_one_instruction_of_one),
        cmocka_unit_test(test_relax_translate_code_of_special_registers),
        cmocka_unit_test(test_relax_translate_code_of_function_arguments),
        cmocka_unit_test(test_relax_translate_code_of_builtins_that_are_instructions),
        cmocka_unit_test(test_relax_translate_code_nests_a_million_calls),
        cmocka_unit_test(test_relax_translate_code_calls_with_a_wrong_count_fail_when_reached),
        cmocka_unit_test(test_relax_translate_code_tests_no_tensors),
    };
    return cmocka_run_group_tests_name("relax_translate_code", tests, NULL, NULL);
}
