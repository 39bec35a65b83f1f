#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"
#include "vm/instruction/instruction.h"

static void assert_canonical(const char *text) {
    Executable *executable = vm_parse(text);
    TextBuilder OWN_TEXT(printed) = {0};
    assert_ok(assembly_print(executable, true, &printed));
    assert_string_equal(text_builder_get(&printed), text);
    executable_release(executable);
}

/* Text in the printer's own form comes back letter by letter. */
static void test_print_gives_back_canonical_text(void **state) {
    (void)state;
    assert_canonical("constant @0 slot 1 = float32[2] {-0, 3.40282347e+38}\n"
                     "constant @1 slot 0 = int64[2] {-9223372036854775808, 5}\n"
                     "constant @2 slot 1 = float32[1] x\"0100c07f\"\n"
                     "constant @3 slot 0 = float 0x1.8p+1\n"
                     "constant @4 slot 0 = float bits 0x7ff8000000000001\n"
                     "constant @5 slot 0 = string \"a\\\"\\\\\\n\\x01\"\n"
                     "constant @6 slot 1 = int8[17] x\"0000000000000000000000000000000000\"\n"
                     "primitive %0 = Softmax.13 {axis=1}\n"
                     "packed list.size(1)\n"
                     "function main(x: float32[N, ?, 3] slot 1, y: any[*] slot 0) -> (z: int8[] "
                     "slot 1) exported "
                     "registers 6 {\n"
                     "L0:\n"
                     "    InvokePacked %0, r0 -> r2\n"
                     "    DeviceCopy r0, 0 -> r2\n"
                     "    InvokePacked.host %0, r2 => r2\n"
                     "    IntOp add, 1, -2 -> r3\n"
                     "    If r3!, 5, L0, L5\n"
                     "L5:\n"
                     "    Call &list.size, r1\n"
                     "    AllocClosure &\"a b\", last, r1 -> r4\n"
                     "    AllocTensorReg _, 0, float32, r1! -> r5\n"
                     "    Ret r4!\n"
                     "}\n"
                     "function \"a b\"(1) nulls registers 1 {\n"
                     "    Ret r0\n"
                     "}\n");
}

static void test_print_leaves_data_out_for_people(void **state) {
    (void)state;
    Executable *executable =
        vm_parse("constant @0 slot 1 = int8[17] x\"0000000000000000000000000000000000\"\nprimitive "
                 "%0 = Relu\n"
                 "function f(1) {\n InvokePacked %0 r0 -> r0\n Ret r0\n}\n");
    TextBuilder OWN_TEXT(printed) = {0}, OWN_TEXT(line) = {0};
    assert_ok(assembly_print(executable, false, &printed));
    assert_non_null(strstr(text_builder_get(&printed), "int8[17] {...}"));
    assembly_print_instruction(executable, 0, 0, &line);
    assert_string_equal(text_builder_get(&line), "InvokePacked Relu r0 -> r0");
    executable_release(executable);
}

int test_assembly_print(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_gives_back_canonical_text),
        cmocka_unit_test(test_print_leaves_data_out_for_people),
    };
    return cmocka_run_group_tests_name("assembly_print", tests, NULL, NULL);
}
