#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_parse_types_reads_every_form(void **state) {
    (void)state;
    relay_expect(
        "def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }\n"
        "def @main(%x: Tensor[(2, ?), float32], %y: (float32, (bool,), Tensor[?, int64])) {\n"
        "  let %f: fn (_) -> _ = fn (%t: (int64)) -> int64 { %t + 1i64 };\n"
        "  (@apply(%f, 2i64), %x, %y.1.0) }",
        "float32[2,1] 1 2; float32[] 1; bool[] 1; int64[1] 3 -> int64[] 3; float32[2,1] 1 2; "
        "bool[] 1");
}

static void test_relay_parse_types_refuses_others(void **state) {
    (void)state;
    relay_refused(INVALID,
        "line 1, column 30: an element type such as float32 is wanted, not float33",
        "def @main(%x: Tensor[(2, 2), float33]) { %x }");
    relay_refused(INVALID, "a dimension, a number or ?, is wanted, not n",
        "def @main(%x: Tensor[(n), float32]) { %x }");
    relay_refused(INVALID, "a tensor of more than 8 dimensions",
        "def @main(%x: Tensor[(1, 1, 1, 1, 1, 1, 1, 1, 1), float32]) { %x }");
}

int test_relay_parse_types(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_parse_types_reads_every_form),
        cmocka_unit_test(test_relay_parse_types_refuses_others),
    };
    return cmocka_run_group_tests_name("relay_parse_types", tests, NULL, NULL);
}
