#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"

static void test_ports_keep_names_types_and_symbols(void **state) {
    (void)state;
    Executable *executable = vm_parse(
        "function \"odd name\"(x: float32[N, ?, 3, M=4] slot 0, \"\": any, y: int8[*], z: any[2])"
        " -> (out: bool[]) exported {\n Ret r0\n}\nfunction g(3) {\n Ret r0\n}\nfunction h() {\n "
        "Ret 1\n}\n");
    const Function *function = &executable->functions[0];
    assert_string_equal(function->name, "odd name");
    assert_int_equal(function->parameter_count, 4);
    const Port *x = &function->parameters[0];
    assert_int_equal(x->dtype, DTYPE_FLOAT32);
    assert_int_equal(x->slot, 0);
    assert_string_equal(x->symbols[0], "N");
    assert_int_equal(x->shape.dims[0], -1);
    assert_null(x->symbols[1]);
    assert_int_equal(x->shape.dims[1], -1);
    assert_int_equal(x->shape.dims[2], 3);
    assert_string_equal(x->symbols[3], "M");
    assert_int_equal(x->shape.dims[3], 4);
    assert_false(function->parameters[1].rank_known);
    assert_int_equal(function->parameters[2].dtype, DTYPE_INT8);
    assert_true(function->parameters[3].rank_known);
    assert_true(function->results[0].rank_known);
    assert_int_equal(function->results[0].shape.rank, 0);
    assert_null(executable->functions[1].parameters);
    assert_int_equal(executable->functions[1].parameter_count, 3);
    assert_int_equal(executable->functions[2].parameter_count, 0);
    executable_release(executable);
}

static void test_ports_may_be_lists_and_optionals(void **state) {
    (void)state;
    static const char text[] = "function f(a: list float32[n] slot 1, b: optional int8[*] slot 0, "
                               "c: optional list any[*] slot 1) exported registers 3 {\n"
                               "    Ret r0\n}\n";
    static const PortForm forms[] = {PORT_LIST, PORT_OPTIONAL, PORT_OPTIONAL_LIST};
    Executable *executable = vm_parse(text);
    TextBuilder OWN_TEXT(printed) = {0};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(executable->functions[0].parameters[i].form, forms[i]);
    assert_ok(assembly_print(executable, true, &printed));
    assert_non_null(strstr(text_builder_get(&printed),
        "(a: list float32[n] slot 1, b: optional int8[*] slot 0, c: optional list any[*] slot 1)"));
    executable_release(executable);
}

static void assert_rejected(const char *ports, const char *saying) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "function f%s {\n Ret 1\n}\n", ports);
    Executable *executable;
    assert_fails_saying(
        INVALID, saying, assembly_parse(text_builder_get(&text), text.size, &executable));
}

static void test_ports_with_mistakes_are_refused(void **state) {
    (void)state;
    assert_rejected("(x)", "':' is missing");
    assert_rejected("(x: float33)", "an element type is missing");
    assert_rejected("(x: int8[1, 2)", "',' is missing");
    assert_rejected("(x: int8 slot 2)", "slot 0 or 1");
    assert_rejected("(x: int8, )", "a name is missing");
    assert_rejected("(99999999)", "a count of parameters is missing");
}

int test_assembly_ports(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports_keep_names_types_and_symbols),
        cmocka_unit_test(test_ports_may_be_lists_and_optionals),
        cmocka_unit_test(test_ports_with_mistakes_are_refused),
    };
    return cmocka_run_group_tests_name("assembly_ports", tests, NULL, NULL);
}
