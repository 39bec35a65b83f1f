#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_check_match_finds_missing_arms(void **state) {
    (void)state;
    static const char *const arms[][2] = {{"Cons(%h, %t) => 1", "no arm for Nil"},
        {"Nil => 1", "no arm for Cons(_, _)"},
        {"Nil => 1, Cons(_, Nil) => 2", "no arm for Cons(_, Cons(_, _))"},
        {"Cons(Some(_), _) => 1, Nil => 2", "no arm for Cons(None, _)"}};
    for (size_t i = 0; i < 4; i++) {
        TextBuilder OWN_TEXT(text) = {0};
        text_appendf(&text,
            "def @f(%%l: List[Option[int32]]) -> int32 {\n  match (%%l) { %s } }\n"
            "def @main() { @f(Nil) }",
            arms[i][0]);
        relay_refused(INVALID, arms[i][1], text_builder_get(&text));
    }
    relay_refused(INVALID,
        "line 1, column 15: the match has no arm for (False2, True2); add one, or write match?",
        "def @main() { match ((True2, False2)) { (True2, _) => 1, (_, False2) => 2 } }\ntype B { "
        "False2, True2 }");
}

static void test_relay_check_match_refuses_wrong_patterns(void **state) {
    (void)state;
    relay_refused(INVALID, "line 1, column 35: there is no constructor Foo",
        "def @main() { match (1) { _ => 1, Foo => 2 } }");
    relay_refused(INVALID, "constructor Cons has 2 fields, not 1",
        "def @f(%l: List[int32]) { match (%l) { Cons(_) => 1, Nil => 2 } }\ndef @main() { @f(Nil) "
        "}");
    relay_refused(INVALID, "the value is of type Tensor[(), int32], not List[_]",
        "def @main() { match (1) { Nil => 1, Cons(_, _) => 2 } }");
    relay_refused(INVALID, "the arm is of type Tensor[(), float32], not Tensor[(), int32]",
        "def @f(%l: List[int32]) { match (%l) { Cons(_, _) => 1, Nil => 2f } }\ndef @main() { "
        "@f(Nil) }");
}

int test_relay_check_match(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_check_match_finds_missing_arms),
        cmocka_unit_test(test_relay_check_match_refuses_wrong_patterns),
    };
    return cmocka_run_group_tests_name("relay_check_match", tests, NULL, NULL);
}
