#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"

static void assert_rejected(const char *body, const char *saying) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "function f(1) {\n%s\n}\n", body);
    Executable *executable;
    assert_fails_saying(
        CORRUPT, saying, assembly_parse(text_builder_get(&text), text.size, &executable));
}

static void test_flow_wants_a_definition_on_every_path(void **state) {
    (void)state;
    assert_rejected(" Ret r1", "r1 may be read before it is written (instruction 0, Ret)");
    assert_rejected(" If r0, 1, a, b\na: LoadConsti 1 -> r1\nb: Ret r1", "r1 may be read");
    assert_rejected(
        "a: If r0, 1, b, c\nb: LoadConsti 1 -> r1\n Goto a\nc: Ret r1", "r1 may be read");
    executable_release(vm_parse("function f(1) {\n If r0, 1, a, b\na: LoadConsti 1 -> r1\n Goto c\n"
                                "b: LoadConsti 2 -> r1\nc: Ret r1\n}\n"));
    executable_release(vm_parse("function f(1) nulls registers 2 {\n Ret r1\n}\n"));
}

static void test_flow_wants_last_uses_to_be_last(void **state) {
    (void)state;
    assert_rejected(
        " Move r0! -> r1\n Ret r0", "instruction 0 (Move): r0 is read behind its last use");
    assert_rejected(" AllocADT 0, r0!, r0 -> r1\n Ret r1", "r0 is read behind its last use");
    assert_rejected("a: If r0!, 1, a, b\nb: Ret 1", "r0 is read behind its last use");
    executable_release(vm_parse("function f(1) {\n AllocADT 0, r0, r0! -> r0\n Ret r0!\n}\n"));
}

/* A million registers in one function: linear, in time and memory. */
static void test_flow_takes_many_registers(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "function f(1) {\n");
    for (int i = 0; i < 100000; i++) text_appendf(&text, " Move r%d -> r%d\n", i, i + 1);
    text_append(&text, " Ret r100000\n}\n");
    executable_release(vm_parse(text_builder_get(&text)));
}

/* Registers times blocks beyond what the code's size justifies: refused instead of computed. */
static void test_flow_refuses_quadratic_code(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "function f(1) {\n");
    for (int i = 1; i < 5000; i++) text_appendf(&text, " LoadConsti 1 -> r%d\n", i);
    for (int i = 0; i < 5000; i++) text_appendf(&text, " If r0, 1, l%d, l%d\nl%d:\n", i, i, i);
    for (int i = 1; i < 5000; i++) text_appendf(&text, " Yield r%d\n", i);
    text_append(&text, " Ret 1\n}\n");
    Executable *executable;
    assert_fails_saying(UNSUPPORTED, "registers alive at block ends",
        assembly_parse(text_builder_get(&text), text.size, &executable));
}

int test_verifier_flow(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flow_wants_a_definition_on_every_path),
        cmocka_unit_test(test_flow_wants_last_uses_to_be_last),
        cmocka_unit_test(test_flow_takes_many_registers),
        cmocka_unit_test(test_flow_refuses_quadratic_code),
    };
    return cmocka_run_group_tests_name("verifier_flow", tests, NULL, NULL);
}
