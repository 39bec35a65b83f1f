#include "serialize/relax/relax_internal.h"
#include "tests/serialize/relax_example.h"

/* Sets one word of the code, and wants the file refused. */
static void refused_word(int word, int64_t value, const char *text) {
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.words[word] = value;
    relax_example_refused(&example, text);
}

static void test_relax_verify_rejects_wrong_code(void **state) {
    (void)state;
    refused_word(0, 5, "instruction 0: unknown opcode 5");
    refused_word(WORD_CALL_DESTINATION, 4, "register %4 of 4");
    refused_word(WORD_CALL_DESTINATION, -1, "register %-1 of 4");
    refused_word(WORD_CALL_FUNCTION, EXAMPLE_FUNCTIONS, "function 4 of 4");
    refused_word(WORD_CALL_COUNT, 3, "3 arguments, 2 words are left");
    refused_word(WORD_CALL_COUNT, -1, "-1 arguments");
    refused_word(WORD_CALL_ARGUMENT, 4, "argument 0: register %4 of 4");
    refused_word(WORD_CALL_ARGUMENT,
        relax_example_argument(RELAX_ARGUMENT_CONSTANT, EXAMPLE_CONSTANTS), "constant 6 of 6");
    refused_word(WORD_CALL_ARGUMENT, relax_example_argument(RELAX_ARGUMENT_FUNCTION, -1),
        "function -1 of 4");
    refused_word(WORD_CALL_ARGUMENT, relax_example_argument((RelaxArgumentKind)4, 0), "kind 4");
    refused_word(WORD_IF_REGISTER, 9, "function 0 (main): instruction 1: register %9");
    refused_word(WORD_IF_JUMP, 1, "a test that jumps by 1");
    refused_word(WORD_IF_JUMP, 4, "a jump by 4, which may be -1 to 3 and not 0");
    refused_word(WORD_RET_REGISTER, 4, "register %4 of 4");
    refused_word(WORD_GOTO_JUMP, 0, "a jump by 0");
    refused_word(WORD_GOTO_JUMP, -1, "function 1 (helper): instruction 0: a jump by -1");
    refused_word(WORD_GOTO_JUMP, 3, "a jump by 3");
}

static void test_relax_verify_accepts_special_registers(void **state) {
    (void)state;
    RelaxExample example;
    ByteWriter OWN_BYTES(writer) = {0};
    OWN(RelaxFile, file) = NULL;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.words[WORD_CALL_DESTINATION] = RELAX_REGISTER_VM;
    example.words[WORD_CALL_ARGUMENT] = RELAX_REGISTER_VM;
    example.words[WORD_IF_REGISTER] = RELAX_REGISTER_VOID;
    assert_ok(relax_example_read(&example, &writer, &file));
    RelaxInstruction call = relax_file_instruction(file, 0);
    assert_int_equal(call.opcode, RELAX_CALL);
    assert_int_equal(call.count, 2);
    assert_int_equal(relax_argument_value(relax_word(call.arguments, 0)), RELAX_REGISTER_VM);
}

static void test_relax_verify_rejects_wrong_offsets(void **state) {
    (void)state;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    example.offsets[1] = 0;
    relax_example_refused(&example, "words 0 to 0 of 24");
    example.offsets[1] = 2;
    relax_example_refused(&example, "2 words where 4 are due");
    relax_example_init(&example, RELAX_TVM_0_23);
    example.offsets[7] = 24;
    relax_example_refused(&example, "instruction 7: words 24 to 24 of 24");
}

static void test_relax_verify_rejects_wrong_functions(void **state) {
    (void)state;
    RelaxExample example;
    RelaxGlobal *main_function = &example.functions[EXAMPLE_MAIN];
#define REFUSED(change, text)                                                                      \
    relax_example_init(&example, RELAX_TVM_0_23);                                                  \
    change;                                                                                        \
    relax_example_refused(&example, text)
    REFUSED(main_function->kind = 3, "unknown kind 3");
    REFUSED(main_function->end = 9, "instructions 0 to 9 of 8");
    REFUSED(main_function->end = 0, "instructions 0 to 0 of 8");
    REFUSED(main_function->start = -1, "instructions -1 to 5");
    REFUSED(main_function->end = 4, "the last instruction is neither ret nor goto");
    REFUSED(main_function->end = 8, "instruction 5 belongs to function 0, too");
    REFUSED(main_function->register_count = 1, "2 parameters, 1 registers");
    REFUSED(main_function->register_count = INT64_MAX, "registers");
    REFUSED(main_function->argument_count = 1, "2 names for 1 parameters");
    REFUSED(main_function->name = example.functions[1].name, "two functions are named helper");
    REFUSED(main_function->name.size = 0, "the name of function 0");
    REFUSED(example.scopes[0].constant = 6, "memory scope of constant 6 of 6");
#undef REFUSED
}

int test_relax_verify(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_verify_rejects_wrong_code),
        cmocka_unit_test(test_relax_verify_accepts_special_registers),
        cmocka_unit_test(test_relax_verify_rejects_wrong_offsets),
        cmocka_unit_test(test_relax_verify_rejects_wrong_functions),
    };
    return cmocka_run_group_tests_name("relax_verify", tests, NULL, NULL);
}
