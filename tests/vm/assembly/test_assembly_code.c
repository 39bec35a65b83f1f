#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"
#include "vm/instruction/instruction.h"

static Instruction instruction_at(const Executable *executable, uint32_t pc) {
    return instruction_read(function_instruction(executable, &executable->functions[0], pc));
}

static void test_code_gets_flags_operands_and_destinations(void **state) {
    (void)state;
    Executable *executable = vm_parse("primitive %add = Add\nfunction f(2) {\n"
                                      " InvokePacked.host %add, r0!, r1 => r1\n"
                                      " InvokePacked %add r1, r1! -> r2\n"
                                      " Call &f, 4, 5\n IntOp lt, 1, -2 -> r3\n Ret r3\n}\n");
    Instruction in = instruction_at(executable, 0);
    assert_int_equal(in.flags, INSTRUCTION_HOST);
    assert_int_equal(in.output_count, 1);
    assert_true(operand_is_last_use(in.operands[2]));
    in = instruction_at(executable, 1);
    assert_int_equal(in.flags, INSTRUCTION_ALLOC);
    in = instruction_at(executable, 2);
    assert_int_equal(in.flags, INSTRUCTION_NO_DST);
    assert_int_equal(head_destination(in.head), REGISTER_NONE);
    in = instruction_at(executable, 3);
    assert_int_equal(operand_value(in.operands[0]), INT_OP_LT);
    assert_int_equal(operand_value(in.operands[2]), -2);
    assert_int_equal(head_destination(in.head), 3);
    assert_int_equal(executable->functions[0].register_count, 4);
    executable_release(executable);
}

static void test_code_labels_jump_both_ways(void **state) {
    (void)state;
    Executable *executable =
        vm_parse("function f() {\ntop:\n If 1, 2, end, top\nend:\n Ret 1\n}\n");
    Instruction in = instruction_at(executable, 0);
    assert_int_equal(operand_value(in.operands[2]), 1);
    assert_int_equal(operand_value(in.operands[3]), 0);
    executable_release(executable);
}

static void assert_rejected(const char *line, const char *saying) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "primitive %%add = Add\nfunction f(1) {\n %s\n Ret 1\n}\n", line);
    Executable *executable;
    assert_fails_saying(
        INVALID, saying, assembly_parse(text_builder_get(&text), text.size, &executable));
}

static void test_code_errors_say_what_is_missing(void **state) {
    (void)state;
    assert_rejected("Move r0", "line 3: '-> rN' is missing before the end of the line");
    assert_rejected("Ret r0 -> r1", "it has no destination");
    assert_rejected("Move r0 -> 5", "a register is missing before '5'");
    assert_rejected("Move r0 r0 -> r1", "',' is missing before 'r0'");
    assert_rejected("InvokePacked %add r0, r0", "'=>' is missing");
    assert_rejected("LoadConsti 99999999999999999999 -> r0", "an integer is missing");
    assert_rejected("LoadConsti 36028797018963968 -> r0", "a number of 56 bits");
    assert_rejected("IntOp plus, 1, 2 -> r0", "a register is missing before 'plus'");
    assert_rejected("a:\na:\n", "another label is needed");
    assert_rejected("Move r1048576 -> r0", "a smaller register");
}

int test_assembly_code(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_gets_flags_operands_and_destinations),
        cmocka_unit_test(test_code_labels_jump_both_ways),
        cmocka_unit_test(test_code_errors_say_what_is_missing),
    };
    return cmocka_run_group_tests_name("assembly_code", tests, NULL, NULL);
}
