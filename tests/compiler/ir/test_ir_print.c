#include "compiler/ir/ir_print.h"
#include "tests/compiler/compiler_fixtures.h"

/* What is printed is read again as the same text. */
static void test_ir_print_and_parse_go_round(void **state) {
    (void)state;
    static const char text[] =
        "function @main(%0 \"x\": float32[batch, 3], %1: int, %2: list(float32[2, ?])) {\n"
        "  %3: int64[2] = shape_of(%0)\n"
        "  %4, %5: int64[batch, 2] = TopK(%0, int64[1]{2}) {axis=-1, largest=1, sorted=1}\n"
        "  %6 = Clip(%4, _, float32[]{2.5})\n"
        "  %7: data = construct(%6, %5)\n"
        "  %8: float32[batch, 2] = get_field 0(%7)\n"
        "  %9: int = get_tag(%7)\n"
        "  %10: bool = int_le(%9, -3)\n"
        "  %11: list(float32[2, ?]) = append(%2, %8)\n"
        "  %12 = concat 1 new(%11, %1)\n"
        "  %13 = device_copy 1(%12)@1\n"
        "  %14: float32[] = make_tensor float32(2.5)\n"
        "  %15: closure = closure @local.1()\n"
        "  %16 = call_closure(%15, %14)\n"
        "  yield(%16)\n"
        "  %17 = if(%10) {\n"
        "    %18 = fatal \"no way\"()\n"
        "    -> %18\n"
        "  } else {\n"
        "    -> bool[2]{true, false}\n"
        "  }\n"
        "  -> %13 \"y\", %17, true, 7\n"
        "}\n"
        "\n"
        "function @local.1(%19: float32[...]) in @main {\n"
        "  %20 = Mul(%19, %0)\n"
        "  -> %20\n"
        "}\n";
    char source[sizeof text];
    memcpy(source, text, sizeof text);
    char *slot = strstr(source, "(%12)@1");
    memmove(slot + 5, slot + 7, strlen(slot + 7) + 1);
    OWN(IrModule, module) = module_parse(source);
    TextBuilder OWN_TEXT(printed) = {0};
    assert_ok(ir_print_module(module, &printed));
    assert_string_equal(text_builder_get(&printed), source);
}

static void test_ir_print_cuts_large_tensors(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse("function @main() {\n"
                                         "  -> float32[100]{#1}\n"
                                         "}\n");
    TextBuilder OWN_TEXT(printed) = {0};
    assert_ok(ir_print_module(module, &printed));
    assert_non_null(strstr(text_builder_get(&printed), "-> float32[100]{#"));
    assert_true(printed.size < 100);
}

int test_ir_print(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_print_and_parse_go_round),
        cmocka_unit_test(test_ir_print_cuts_large_tensors),
    };
    return cmocka_run_group_tests_name("ir_print", tests, NULL, NULL);
}
