#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"

static void assert_rejected(const char *text, const char *saying) {
    Executable *executable;
    assert_fails_saying(INVALID, saying, assembly_parse(text, strlen(text), &executable));
}

static void test_assembly_errors_name_their_line(void **state) {
    (void)state;
    assert_rejected(
        "\n\nfunktion f() {\n}\n", "line 3: constant, library, primitive, function or packed");
    assert_rejected("constant @a = int 1\nconstant @a = int 2\n", "line 2: a is defined twice");
    assert_rejected("function f() {\n Ret 1\n", "line 3: '}' is missing");
    assert_rejected("function f() {\n Rat 1\n}\n", "line 2: unknown opcode Rat");
    assert_rejected("function f() {\n Goto x\n Ret 1\n}\n", "line 2: there is no label x");
    assert_rejected(
        "function f() {\n Invoke &g -> r0\n Ret r0\n}\n", "line 2: there is no function g");
    assert_rejected("function f() {\n LoadConst @c -> r0\n}\n", "line 2: there is no constant c");
    assert_rejected("function f() \"x\"\n", "line 1: '{' is missing before '\"x\"'");
    assert_rejected("constant @a = int 1 2\n", "line 1: the end of the line is missing before '2'");
}

static void test_assembly_unknown_operators_and_versions_are_named(void **state) {
    (void)state;
    Executable *executable;
    const char *unknown = "\nprimitive %a = NoSuch.1 {}\n", *old = "primitive %a = Add.7\n";
    assert_fails_saying(UNSUPPORTED, "line 2: there is no operator NoSuch",
        assembly_parse(unknown, strlen(unknown), &executable));
    assert_fails_saying(UNSUPPORTED, "operator Add: version 7 is wanted",
        assembly_parse(old, strlen(old), &executable));
}

static void test_assembly_refuses_nul_and_bad_utf8(void **state) {
    (void)state;
    Executable *executable;
    assert_fails(INVALID, assembly_parse("# \0\n", 4, &executable));
    assert_fails(INVALID, assembly_parse("# \xff\n", 4, &executable));
}

/* Functions may call each other before they stand; an empty text is an empty executable. */
static void test_assembly_takes_forward_references_and_nothing(void **state) {
    (void)state;
    executable_release(
        vm_parse("function f() {\n Invoke &g -> r0\n Ret r0\n}\nfunction g() {\n Ret 1\n}"));
    Executable *empty = vm_parse("  # only a comment");
    assert_int_equal(empty->function_count, 0);
    executable_release(empty);
}

/* Every truncation of a program is refused or is one itself; nothing crashes or leaks. */
static void test_assembly_survives_every_truncation_and_flipped_byte(void **state) {
    (void)state;
    char text[] = "constant @c slot 0 = int64[2] {1, -2}\nconstant @s = string \"a\\x41\\n\"\n"
                  "primitive %p = Softmax {axis=1}\npacked list.size(1)\n"
                  "function f(x: float32[N, ?, 3] slot 1, y: any[*]) -> (z: int8) exported {\n"
                  "a: IntOp add, 1, -2 -> r2\n If r2, @c, a, b\nb: InvokePacked %p r0 -> r3\n"
                  " Call &list.size, r1!\n Ret r3!\n}\n";
    size_t size = sizeof text - 1;
    executable_release(vm_parse(text));
    for (size_t i = 0; i < size; i++) {
        Executable *executable = NULL;
        error_free(assembly_parse(text, i, &executable)); /* either is fine */
        executable_release(executable);
        for (int bit = 0; bit < 7; bit++) {
            executable = NULL;
            text[i] ^= (char)(1 << bit);
            error_free(assembly_parse(text, size, &executable)); /* either is fine */
            executable_release(executable);
            text[i] ^= (char)(1 << bit);
        }
    }
}

int test_assembly(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assembly_errors_name_their_line),
        cmocka_unit_test(test_assembly_unknown_operators_and_versions_are_named),
        cmocka_unit_test(test_assembly_refuses_nul_and_bad_utf8),
        cmocka_unit_test(test_assembly_takes_forward_references_and_nothing),
        cmocka_unit_test(test_assembly_survives_every_truncation_and_flipped_byte),
    };
    return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
