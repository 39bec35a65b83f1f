#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_parse_match_reads_patterns(void **state) {
    (void)state;
    relay_expect("type P { A(int32, (int32, int32)), B }\n"
                 "def @f(%p: P) -> int32 {\n"
                 "  match (%p) { A(%x: int32, (%y, _)) => { let %z = %x + %y; %z }, B() => 5, } }\n"
                 "def @main() { (@f(A(1, (2, 3))), @f(B), @f(B())) }",
        "-> int32[] 3; int32[] 5; int32[] 5");
    relay_refused(
        INVALID, "line 1, column 15: a match has no arms", "def @main() { match (1) { } }");
    relay_refused(INVALID, "a pattern is wanted, not 1", "def @main() { match (1) { 1 => 2 } }");
}

int test_relay_parse_match(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_parse_match_reads_patterns),
    };
    return cmocka_run_group_tests_name("relay_parse_match", tests, NULL, NULL);
}
