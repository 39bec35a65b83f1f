#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"
#include "vm/code/verifier.h"

/* Assembly of functions behind the same constants and operators. */
static Error *verify(const char *functions) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "constant @d slot 1 = float32[2] {1, 2}\n"
                       "constant @h slot 0 = float32[2] {1, 2}\n"
                       "constant @axes slot 0 = int64[1] {0}\n"
                       "constant @device_axes slot 1 = int64[1] {0}\n"
                       "constant @yes slot 1 = bool[] {true}\n"
                       "primitive %relu = Relu\nprimitive %add = Add\nprimitive %sum = ReduceSum\n"
                       "primitive %split = Split {num_outputs=2}\n"
                       "packed sequence.at(2)\n");
    text_append(&text, functions);
    OWN(Executable, executable) = NULL;
    return assembly_parse(text_builder_get(&text), text.size, &executable);
}

#define ACCEPTED(functions) assert_ok(verify(functions))
#define REFUSED(saying, functions) assert_fails_saying(CORRUPT, saying, verify(functions))

static void test_slots_of_constants_and_results_are_known(void **state) {
    (void)state;
    ACCEPTED("function f() {\n InvokePacked %add @d, @d -> r0\n Ret r0\n}\n");
    ACCEPTED("function f() {\n InvokePacked %sum @d, @axes -> r0\n Ret r0\n}\n");
    REFUSED("function f, instruction 0 (InvokePacked): operand 3 is in slot 0, not in slot 1",
        "function f() {\n InvokePacked %add @d, @h -> r0\n Ret r0\n}\n");
    REFUSED("operand 3 is in slot 1, not in slot 0",
        "function f() {\n InvokePacked.host %add @h, @d -> r0\n Ret r0\n}\n");
    REFUSED("operand 3 is in slot 1, not in slot 0",
        "function f() {\n InvokePacked %sum @d, @device_axes -> r0\n Ret r0\n}\n");
    REFUSED("instruction 1 (InvokePacked): operand 2 is in slot 1, not in slot 0",
        "function f() {\n InvokePacked %split @d -> r0, r1\n InvokePacked.host %relu r1 -> r1\n"
        " Ret r1\n}\n");
    REFUSED("instruction 2 (InvokePacked): operand 3 is in slot 0, not in slot 1",
        "function f() {\n AllocStorage 8, 64, 0, float32 -> r0\n"
        " AllocTensor r0, 0, float32, 2 -> r0\n InvokePacked %relu @d => r0\n Ret r0\n}\n");
}

static void test_slots_of_what_decides_are_the_hosts(void **state) {
    (void)state;
    REFUSED("(If): operand 0 is in slot 1", "function f() {\n If @yes, 1, a, a\na:\n Ret 1\n}\n");
    REFUSED("(ReadScalar): operand 0 is in slot 1",
        "function f() {\n ReadScalar @yes -> r0\n Ret r0\n}\n");
    REFUSED("(ReshapeTensor): operand 1 is in slot 1",
        "function f() {\n ReshapeTensor @d, @device_axes -> r0\n Ret r0\n}\n");
    REFUSED("(AllocTensorReg): operand 3 is in slot 1",
        "function f() {\n AllocTensorReg _, 0, float32, @device_axes -> r0\n Ret r0\n}\n");
    ACCEPTED("function f() {\n DeviceCopy @yes, 0 -> r0\n If r0, 1, a, a\na:\n Ret 1\n}\n");
    ACCEPTED("function f() {\n ShapeOf @d -> r0\n ReshapeTensor @d, r0 -> r1\n Ret r1\n}\n");
}

static void test_slots_follow_jumps(void **state) {
    (void)state;
    REFUSED("instruction 5 (InvokePacked): operand 2 is in slot 0, not in slot 1",
        "function f(1) {\n InvokePacked %relu @d -> r1\n If r0, 1, a, b\na:\n"
        " DeviceCopy r1, 0 -> r1\n Goto b\nb:\n Move r1 -> r2\n InvokePacked %relu r2 -> r1\n"
        " Ret r1\n}\n");
    REFUSED("instruction 1 (InvokePacked): operand 2 is in slot 0, not in slot 1",
        "function f() {\n Move @d -> r0\ntop:\n InvokePacked %relu r0 -> r1\n"
        " DeviceCopy r1, 0 -> r0\n Goto top\n}\n");
    ACCEPTED("function f(1) {\n InvokePacked %relu @d -> r1\n If r0, 1, a, b\na:\n"
             " DeviceCopy r1, 0 -> r1\n DeviceCopy r1, 1 -> r1\n Goto b\nb:\n"
             " InvokePacked %relu r1 -> r1\n Ret r1\n}\n");
}

static void test_slots_follow_calls_and_returns(void **state) {
    (void)state;
    REFUSED("function g, instruction 0 (InvokePacked): operand 2 is in slot 0",
        "function f() {\n Invoke &g, @h -> r0\n Ret r0\n}\n"
        "function g(1) {\n InvokePacked %relu r0 -> r0\n Ret r0\n}\n");
    REFUSED("function f, instruction 1 (InvokePacked): operand 2 is in slot 0",
        "function f() {\n Invoke &g, @h -> r0\n InvokePacked %relu r0 -> r0\n Ret r0\n}\n"
        "function g(1) {\n TailInvoke &k, r0\n}\nfunction k(1) {\n Ret r0\n}\n");
    REFUSED("function f, instruction 0 (InvokePacked): operand 2 is in slot 0",
        "function f(x: float32[2] slot 0) -> (y: float32[2]) exported {\n"
        " InvokePacked %relu r0 -> r0\n Ret r0\n}\n");
    ACCEPTED("function f(x: float32[2] slot 0) -> (y: float32[2]) exported {\n"
             " InvokePacked.host %relu r0 -> r0\n Ret r0\n}\n");
}

/* What comes out of objects, closures and packed functions is looked at when it is used. */
static void test_slots_behind_objects_are_not_known(void **state) {
    (void)state;
    ACCEPTED("function f() {\n ListNew @h, @d -> r0\n GetField r0, 0 -> r1\n"
             " InvokePacked.host %relu r1 -> r1\n Call &sequence.at, r0, 1 -> r2\n"
             " InvokePacked %relu r2 -> r2\n Ret r2\n}\n");
    ACCEPTED("function f() {\n AllocClosure &g, last -> r0\n InvokeClosure r0, @h -> r1\n"
             " Invoke &g, @d -> r1\n Ret r1\n}\n"
             "function g(1) {\n InvokePacked %relu r0 -> r0\n Ret r0\n}\n");
    ACCEPTED("function f(1) exported {\n InvokePacked %relu r0 -> r1\n Ret r1\n}\n");
}

int test_verifier_slots(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_of_constants_and_results_are_known),
        cmocka_unit_test(test_slots_of_what_decides_are_the_hosts),
        cmocka_unit_test(test_slots_follow_jumps),
        cmocka_unit_test(test_slots_follow_calls_and_returns),
        cmocka_unit_test(test_slots_behind_objects_are_not_known),
    };
    return cmocka_run_group_tests_name("verifier_slots", tests, NULL, NULL);
}
