#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_parse_values_reads_attributes(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(2, 3), float32]) {\n"
                 "  (sum(%x, axis=[-1], keepdims=True), sum(%x, axis=0), max(%x, axis=None),\n"
                 "   nn.pad(%x, 9f, pad_width=[[0, 0], [1, 0]]), clip(%x, a_min=-1f, a_max=2)) }",
        "float32[2,3] 1 2 3 4 5 6 -> float32[2,1] 6 15; float32[3] 5 7 9; float32[] 6; "
        "float32[2,4] 9 1 2 3 9 4 5 6; float32[2,3] 1 2 2 2 2 2");
    relay_refused(UNSUPPORTED, "line 1, column 15: there is no operator or constructor f",
        "def @main() { f(axis==1) }");
}

int test_relay_parse_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_parse_values_reads_attributes),
    };
    return cmocka_run_group_tests_name("relay_parse_values", tests, NULL, NULL);
}
