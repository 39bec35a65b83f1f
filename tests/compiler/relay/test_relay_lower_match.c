#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static const char simplify[] =
    "type E { Num(float32), Add(E, E), Mul(E, E) }\n"
    "def @eval(%e: E) -> float32 {\n"
    "  match (%e) {\n"
    "    Num(%v) => %v,\n"
    "    Add(Num(%a), Num(%b)) => %a + %b,\n"
    "    Mul(Num(%a), Num(%b)) => %a * %b,\n"
    "    Add(%x, Mul(_, %y)) => @eval(%x) + @eval(%y) + 100f,\n"
    "    Add(%x, %y) => @eval(%x) + @eval(%y),\n"
    "    %other => @part(%other),\n"
    "  } }\n"
    "def @part(%e: E) -> float32 { match? (%e) { Mul(%x, %y) => @eval(%x) * @eval(%y) } }\n";

static void test_relay_lower_match_takes_the_first_arm_that_fits(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text,
        "%s def @main(%%v: float32) { (@eval(Add(Num(%%v), Num(2f))), @eval(Add(Num(%%v), "
        "Mul(Num(3f), Num(4f)))),\n"
        "  @eval(Mul(Add(Num(%%v), Num(1f)), Num(5f))), @eval(Add(Add(Num(1f), Num(1f)), "
        "Num(%%v)))) }",
        simplify);
    relay_expect(text_builder_get(&text),
        "float32[] 1 -> float32[] 3; float32[] 105; float32[] 10; float32[] 3");
}

static void test_relay_lower_match_fails_where_no_arm_fits(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "%s def @main(%%v: float32) { @part(Num(%%v)) }", simplify);
    relay_expect_failure(text_builder_get(&text), "float32[] 1",
        "line 11, column 31: no arm of the match fits the value");
    relay_expect_failure("def @main() -> int32 { @hd(Nil) }", "",
        "prelude, line 41, column 3: no arm of the match fits");
}

int test_relay_lower_match(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_lower_match_takes_the_first_arm_that_fits),
        cmocka_unit_test(test_relay_lower_match_fails_where_no_arm_fits),
    };
    return cmocka_run_group_tests_name("relay_lower_match", tests, NULL, NULL);
}
