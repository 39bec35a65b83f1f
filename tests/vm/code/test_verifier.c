#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"
#include "vm/code/executable_builder.h"

/* One function of one instruction given as words, and a Ret behind it. */
static Error *verify_words(const uint64_t *words, uint32_t count) {
    OWN(ExecutableBuilder, builder) = NULL;
    uint32_t index;
    assert_ok(executable_builder_create(&builder));
    assert_ok(executable_builder_add_function(
        builder, "f", FUNCTION_BYTECODE, FUNCTION_NULLS, 2, &index));
    assert_ok(executable_builder_add_constant(builder, value_int(4), 0, &index));
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    assert_ok(executable_builder_add_primitive(builder, "Add", 14, attributes, &index));
    uint64_t code[64];
    memcpy(code, words, count * sizeof *code);
    code[count] = head_make(OPCODE_RET, 0, 1, REGISTER_NONE);
    code[count + 1] = operand_make(OPERAND_REGISTER, 0);
    TRY(executable_builder_set_code(builder, 0, 4, code, count + 2));
    OWN(Executable, executable) = NULL;
    return executable_builder_finish(builder, &executable);
}

#define R(index) operand_make(OPERAND_REGISTER, index)
#define I(value) operand_make(OPERAND_IMMEDIATE, value)
#define C(index) operand_make(OPERAND_CONSTANT, index)
#define F(index) operand_make(OPERAND_FUNCTION, index)
#define WORDS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8
#define REJECTED(saying, ...) assert_fails_saying(CORRUPT, saying, verify_words(WORDS(__VA_ARGS__)))

static void test_verifier_accepts_what_is_right(void **state) {
    (void)state;
    assert_ok(verify_words(WORDS(head_make(OPCODE_MOVE, 0, 1, 3), R(2))));
    assert_ok(
        verify_words(WORDS(head_make(OPCODE_INVOKE_PACKED, INSTRUCTION_ALLOC, 5, REGISTER_NONE),
            I(0), I(1), R(0), R(1), R(2))));
}

static void test_verifier_rejects_wrong_heads(void **state) {
    (void)state;
    REJECTED("unknown opcode 200", head_make((Opcode)200, 0, 1, 0), R(0));
    REJECTED("2 operands where 1 are due", head_make(OPCODE_MOVE, 0, 2, 0), R(0), R(0));
    REJECTED("flags 0x1", head_make(OPCODE_MOVE, 1, 1, 0), R(0));
    REJECTED("register r9 of 4", head_make(OPCODE_MOVE, 0, 1, 9), R(0));
    REJECTED("a destination, r0, that is not written", head_make(OPCODE_YIELD, 0, 1, 0), R(0));
}

static void test_verifier_rejects_wrong_operands(void **state) {
    (void)state;
    REJECTED("register r4 of 4", head_make(OPCODE_MOVE, 0, 1, 0), R(4));
    REJECTED("register r-1 of 4", head_make(OPCODE_MOVE, 0, 1, 0), R(-1));
    REJECTED("constant 1 of 1", head_make(OPCODE_MOVE, 0, 1, 0), C(1));
    REJECTED("wrong kind", head_make(OPCODE_MOVE, 0, 1, 0), F(0));
    REJECTED("wrong kind", head_make(OPCODE_MOVE, 0, 1, 0), (uint64_t)9 << 56);
    REJECTED("cannot be a last use", head_make(OPCODE_MOVE, 0, 1, 0), C(0) | OPERAND_LAST_USE);
    REJECTED("is not an object", head_make(OPCODE_SHAPE_OF, 0, 1, 0), C(0));
    REJECTED("the message is not a string", head_make(OPCODE_FATAL, 0, 1, REGISTER_NONE), C(0));
    REJECTED("jump to 9 of 2", head_make(OPCODE_GOTO, 0, 1, REGISTER_NONE), I(9));
    REJECTED("jump to -1 of 2", head_make(OPCODE_GOTO, 0, 1, REGISTER_NONE), I(-1));
    REJECTED("function 1", head_make(OPCODE_INVOKE, 0, 1, 0), F(1));
    REJECTED("f takes 2 arguments, not 1", head_make(OPCODE_INVOKE, 0, 2, 0), F(0), R(0));
    REJECTED("slot 2", head_make(OPCODE_DEVICE_COPY, 0, 2, 0), R(0), I(2));
    REJECTED("IntOp kind 10", head_make(OPCODE_INT_OP, 0, 3, 0), I(10), R(0), R(0));
    REJECTED("element type 99", head_make(OPCODE_MAKE_TENSOR0, 0, 2, 0), R(0), I(99));
    REJECTED("element type 8", head_make(OPCODE_MAKE_TENSOR0, 0, 2, 0), R(0), I(DTYPE_STRING));
    REJECTED("tag -1", head_make(OPCODE_ALLOC_ADT, 0, 1, 0), I(-1));
    REJECTED("side 2", head_make(OPCODE_ALLOC_CLOSURE, 0, 2, 0), F(0), I(2));
    REJECTED("3 values bound to f", head_make(OPCODE_ALLOC_CLOSURE, 0, 5, 0), F(0), I(0), R(0),
        R(0), R(0));
    REJECTED("alignment 48", head_make(OPCODE_ALLOC_STORAGE, 0, 4, 0), I(1), I(48), I(0), I(0));
    REJECTED("ListConcat form 2", head_make(OPCODE_LIST_CONCAT, 0, 3, 0), R(0), I(0), I(2));
}

static void test_verifier_rejects_wrong_operator_calls(void **state) {
    (void)state;
    uint64_t head = head_make(OPCODE_INVOKE_PACKED, INSTRUCTION_ALLOC, 5, REGISTER_NONE);
    REJECTED("primitive 1", head, I(1), I(1), R(0), R(1), R(2));
    REJECTED("outputs 4", head, I(0), I(4), R(0), R(1), R(2));
    REJECTED("outputs -1", head, I(0), I(-1), R(0), R(1), R(2));
    REJECTED("Add with 3 inputs", head, I(0), I(0), R(0), R(1), R(2));
    REJECTED("Add with 1 inputs", head, I(0), I(2), R(0), R(1), R(2));
    REJECTED("Add without input 1", head, I(0), I(1), R(0), operand_make(OPERAND_ABSENT, 0), R(2));
    REJECTED("constant 0 is not an object", head, I(0), I(1), R(0), C(0), R(2));
    REJECTED("cannot be a last use", head, I(0), I(1), R(0), R(1), R(2) | OPERAND_LAST_USE);
}

static void test_verifier_rejects_functions_without_an_end(void **state) {
    (void)state;
    Executable *executable;
    const char *text = "function f() {\n LoadConsti 1 -> r0\n}\n";
    assert_fails_saying(CORRUPT, "runs on behind its last instruction",
        assembly_parse(text, strlen(text), &executable));
    text = "function f() {\n}\n";
    assert_fails(CORRUPT, assembly_parse(text, strlen(text), &executable));
    text = "function f() {\n Ret 1\n}\nfunction f() {\n Ret 1\n}\n";
    assert_fails(INVALID, assembly_parse(text, strlen(text), &executable));
    text = "function f() registers 500 {\n Ret 1\n}\n";
    assert_fails_saying(CORRUPT, "500 registers", assembly_parse(text, strlen(text), &executable));
    text = "packed p(1)\nfunction f() {\n Invoke &p, 1 -> r0\n Ret 1\n}\n";
    assert_fails_saying(CORRUPT, "p is a packed function: use Call",
        assembly_parse(text, strlen(text), &executable));
}

int test_verifier(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verifier_accepts_what_is_right),
        cmocka_unit_test(test_verifier_rejects_wrong_heads),
        cmocka_unit_test(test_verifier_rejects_wrong_operands),
        cmocka_unit_test(test_verifier_rejects_wrong_operator_calls),
        cmocka_unit_test(test_verifier_rejects_functions_without_an_end),
    };
    return cmocka_run_group_tests_name("verifier", tests, NULL, NULL);
}
