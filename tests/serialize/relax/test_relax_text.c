#include "serialize/relax/relax_text.h"

#include "tests/serialize/relax_example.h"

/* The widths and the order are those of TVM's as_text. */
static void test_relax_text_prints_like_tvm(void **state) {
    (void)state;
    RelaxExample example;
    TextBuilder OWN_TEXT(text) = {0};
    relax_example_init(&example, RELAX_TVM_0_23);
    example.words[WORD_HELPER_ARGUMENT] = relax_example_argument(RELAX_ARGUMENT_FUNCTION, 1);
    example.words[WORD_CALL_ARGUMENT] = relax_example_argument(RELAX_ARGUMENT_IMMEDIATE, -7);
    example.words[WORD_CALL_ARGUMENT + 1] = RELAX_REGISTER_VM;
    assert_ok(relax_text_print(&example.file, &text));
    assert_string_equal(text_builder_get(&text),
        "@main:\n"
        "  call  fx.add           in: i-7, %vm     dst: %2\n"
        "  If    %2, 2\n"
        "  ret   %2\n"
        "  call  helper           in: f[helper]    dst: %3\n"
        "  ret   %3\n"
        "\n"
        "@helper:\n"
        "  goto  2\n"
        "  ret   %void\n"
        "  ret   %0\n"
        "\n"
        "@fx.add packed_func;\n\n"
        "@native num_inputs=1 vm_tir_func;\n\n");
}

static void test_relax_text_prints_python_like_tvm(void **state) {
    (void)state;
    RelaxExample example;
    TextBuilder OWN_TEXT(text) = {0};
    relax_example_init(&example, RELAX_TVM_0_23);
    example.words[WORD_CALL_DESTINATION] = RELAX_REGISTER_VOID;
    assert_ok(relax_text_print_python(&example.file, &text));
    assert_string_equal(text_builder_get(&text),
        "ib = rx.Builder()\n"
        "with ib.function(\"main\", num_inputs=2):\n"
        "    ib.emit_call(\"fx.add\", args=[ib.r(0), ib.r(1)])\n"
        "    ib.emit_if(ib.r(2), 2)\n"
        "    ib.emit_ret(ib.r(2))\n"
        "    ib.emit_call(\"helper\", args=[ib.r(2)], dst=ib.r(3))\n"
        "    ib.emit_ret(ib.r(3))\n"
        "with ib.function(\"helper\", num_inputs=1):\n"
        "    ib.emit_goto(2)\n"
        "    ib.emit_ret(ib.r(18014398509481984))\n"
        "    ib.emit_ret(ib.r(0))\n");
}

static void test_relax_text_prints_stats_like_tvm(void **state) {
    (void)state;
    RelaxExample example;
    TextBuilder OWN_TEXT(text) = {0};
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_text_print_stats(&example.file, &text));
    assert_string_equal(text_builder_get(&text),
        "Relax VM executable statistics:\n"
        "  Constant pool (# 6): [[2, 3], shapetuple[2, 3], \"hello\", -9223372036854775808, 0.125, "
        "float16]\n"
        "  Globals (#4): [main, helper, fx.add, native]\n");
    text_builder_deinit(&text);
    example.constants[1].shape.rank = 0; /* TVM writes over the last two bytes */
    example.constants[4] = (RelaxConstant){RELAX_DTYPE, .dtype = {1, 8, 4}};
    example.constants[5] = (RelaxConstant){RELAX_DTYPE, .dtype = {10, 8, 1}};
    assert_ok(relax_text_print_stats(&example.file, &text));
    assert_non_null(strstr(text_builder_get(&text), "[2, 3], shapetupl], \"hello\""));
    assert_non_null(strstr(text_builder_get(&text), "uint8x4, float8_e4m3fn]\n"));
}

int test_relax_text(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_text_prints_like_tvm),
        cmocka_unit_test(test_relax_text_prints_python_like_tvm),
        cmocka_unit_test(test_relax_text_prints_stats_like_tvm),
    };
    return cmocka_run_group_tests_name("relax_text", tests, NULL, NULL);
}
