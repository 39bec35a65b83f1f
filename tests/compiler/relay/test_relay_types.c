#include "compiler/relay/relay_types.h"

#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_types_join_what_branches_have_in_common(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(?, 2), float32], %c: bool) {\n"
                 "  let %y = if (%c) { zeros(shape=[1, 2], dtype=\"float32\") } else { %x };\n"
                 "  concatenate((%y, %x), axis=0) }",
        "float32[1,2] 1 2; bool[] 0 -> float32[2,2] 1 2 1 2");
    relay_refused(INVALID,
        "line 1, column 76: the branch behind else is of type Tensor[(3,), float32], not "
        "Tensor[(2,), float32]",
        "def @main(%c: bool) { if (%c) { zeros(shape=[2], dtype=\"float32\") } else { "
        "zeros(shape=[3], "
        "dtype=\"float32\") } }");
}

static void test_relay_types_refuse_circles(void **state) {
    (void)state;
    relay_refused(INVALID, "what is called would be of a type that holds itself",
        "def @main() { let %f = fn (%x) { %x(%x) }; 1 }");
}

/* Pairs of pairs have types of 2^n parts. */
static void test_relay_types_are_bounded(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "def @f[A](%x: A) -> A { %x }\ndef @main() { let %x = 1;\n");
    for (uint32_t i = 0; i < 60; i++) text_append(&text, "let %x = @f((%x, %x));\n");
    text_append(&text, "1 }");
    relay_refused(INVALID, "the program's types have too many parts", text_builder_get(&text));
}

int test_relay_types(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_types_join_what_branches_have_in_common),
        cmocka_unit_test(test_relay_types_refuse_circles),
        cmocka_unit_test(test_relay_types_are_bounded),
    };
    return cmocka_run_group_tests_name("relay_types", tests, NULL, NULL);
}
