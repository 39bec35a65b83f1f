#include "compiler/relay/relay_lower.h"

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_lower_captures_and_recurses(void **state) {
    (void)state;
    relay_expect("def @main(%n: int32) {\n"
                 "  let %power = fn (%base: int32, %e: int32) -> int32 { if (%e == 0) { 1 } else { "
                 "%base * %power(%base, %e - 1) } };\n"
                 "  let %add = fn (%a: int32) { fn (%b: int32) { %a + %b + %n } };\n"
                 "  let %twice = fn (%f: fn (int32) -> int32) { fn (%x: int32) { %f(%f(%x)) } };\n"
                 "  (%power(%n, 5), %add(1)(2), %twice(%add(10))(0), @iterate(%add(1), 3)(0)) }",
        "int32[] 2 -> int32[] 32; int32[] 5; int32[] 24; int32[] 9");
}

/* Tail calls need no frames, so neither do loops and mutual recursion. */
static void test_relay_lower_makes_tail_calls(void **state) {
    (void)state;
    relay_expect("def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
                 "def @odd(%n: int32) -> bool { if (%n == 0) { False } else { let %r = @even(%n - "
                 "1); %r } }\n"
                 "def @main(%n: int32) { @even(%n) }",
        "int32[] 100001 -> bool[] 0");
}

static void test_relay_lower_refuses_a_value_that_needs_itself(void **state) {
    (void)state;
    relay_refused(INVALID, "there is no variable %x", "def @main() { let %x = %x + 1; %x }");
}

int test_relay_lower(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_lower_captures_and_recurses),
        cmocka_unit_test(test_relay_lower_makes_tail_calls),
        cmocka_unit_test(test_relay_lower_refuses_a_value_that_needs_itself),
    };
    return cmocka_run_group_tests_name("relay_lower", tests, NULL, NULL);
}
