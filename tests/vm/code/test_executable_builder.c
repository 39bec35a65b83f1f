#include "tests/vm/vm_fixture.h"
#include "vm/code/executable_builder.h"

static void test_builder_makes_and_patches_code(void **state) {
    (void)state;
    OWN(ExecutableBuilder, builder) = NULL;
    uint32_t function;
    assert_ok(executable_builder_create(&builder));
    assert_ok(executable_builder_add_function(
        builder, "f", FUNCTION_BYTECODE, FUNCTION_EXPORTED, 1, &function));
    assert_ok(executable_builder_begin_code(builder, function, 2));
    uint64_t jump = operand_make(OPERAND_IMMEDIATE, 0), value = operand_make(OPERAND_REGISTER, 0);
    assert_ok(executable_builder_add_instruction(builder, OPCODE_GOTO, 0, REGISTER_NONE, &jump, 1));
    assert_int_equal(executable_builder_pc(builder), 1);
    assert_ok(executable_builder_add_instruction(builder, OPCODE_RET, 0, REGISTER_NONE, &value, 1));
    assert_ok(executable_builder_patch_operand(builder, 0, 0, operand_make(OPERAND_IMMEDIATE, 1)));
    OWN(Executable, executable) = NULL;
    assert_ok(executable_builder_finish(builder, &executable));
    assert_int_equal(operand_value(executable->code[1]), 1);
}

/* What the verifier refused may be mended and finished. */
static void test_builder_goes_on_after_a_refusal(void **state) {
    (void)state;
    OWN(ExecutableBuilder, builder) = NULL;
    uint32_t function;
    assert_ok(executable_builder_create(&builder));
    assert_ok(executable_builder_add_function(builder, "f", FUNCTION_BYTECODE, 0, 0, &function));
    assert_ok(executable_builder_begin_code(builder, function, 1));
    uint64_t jump = operand_make(OPERAND_IMMEDIATE, 5);
    assert_ok(executable_builder_add_instruction(builder, OPCODE_GOTO, 0, REGISTER_NONE, &jump, 1));
    OWN(Executable, executable) = NULL;
    assert_fails(CORRUPT, executable_builder_finish(builder, &executable));
    assert_ok(executable_builder_patch_operand(builder, 0, 0, operand_make(OPERAND_IMMEDIATE, 0)));
    assert_ok(executable_builder_add_function(builder, "g", FUNCTION_PACKED, 0, 1, &function));
    assert_ok(executable_builder_finish(builder, &executable));
}

static void test_builder_refuses_bad_words(void **state) {
    (void)state;
    OWN(ExecutableBuilder, builder) = NULL;
    uint32_t function;
    assert_ok(executable_builder_create(&builder));
    assert_ok(executable_builder_add_function(builder, "f", FUNCTION_BYTECODE, 0, 0, &function));
    uint64_t words[] = {head_make(OPCODE_RET, 0, 5, REGISTER_NONE), 0};
    assert_fails(CORRUPT, executable_builder_set_code(builder, function, 1, words, 2));
}

static void test_builder_refuses_ports_of_one_name(void **state) {
    (void)state;
    OWN(ExecutableBuilder, builder) = NULL;
    uint32_t function;
    char name[] = "x";
    const Port ports[2] = {{.name = name}, {.name = name}};
    assert_ok(executable_builder_create(&builder));
    assert_ok(executable_builder_add_function(builder, "f", FUNCTION_BYTECODE, 0, 2, &function));
    assert_fails_saying(INVALID, "function f: two ports are named x",
        executable_builder_set_parameters(builder, function, ports, 2));
    assert_fails_saying(INVALID, "function f: two ports are named x",
        executable_builder_set_results(builder, function, ports, 2));
    assert_ok(executable_builder_set_results(builder, function, ports, 1));
}

int test_executable_builder(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder_makes_and_patches_code),
        cmocka_unit_test(test_builder_goes_on_after_a_refusal),
        cmocka_unit_test(test_builder_refuses_bad_words),
        cmocka_unit_test(test_builder_refuses_ports_of_one_name),
    };
    return cmocka_run_group_tests_name("executable_builder", tests, NULL, NULL);
}
