#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_build_computes_elements(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(4), float32]) {\n"
                 "  (round(%x), not_equal(%x, 1f), rsqrt(%x * %x), clip(%x, a_min=-1f, a_max=1f),\n"
                 "   floor_divide(%x, 2f), floor_mod(%x, 2f), mod(%x, 2f), nn.leaky_relu(%x, "
                 "alpha=0.5), copy(%x)) }",
        "float32[4] -2.5 0.5 1 2 -> float32[4] -3 1 1 2; bool[4] 1 1 0 1; float32[4] 0.4 2 1 0.5; "
        "float32[4] -1 0.5 1 1; float32[4] -2 0 0 1; float32[4] 1.5 0.5 1 0; float32[4] -0.5 0.5 1 "
        "0; "
        "float32[4] -1.25 0.5 1 2; float32[4] -2.5 0.5 1 2");
    relay_expect("def @main(%x: Tensor[(3), int32]) { (%x / 2, floor_divide(%x, 2), floor_mod(%x, "
                 "2), mod(%x, 2)) }",
        "int32[3] -3 3 4 -> int32[3] -1 1 2; int32[3] -2 1 2; int32[3] 1 1 0; int32[3] -1 1 0");
}

int test_relay_build(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_build_computes_elements),
    };
    return cmocka_run_group_tests_name("relay_build", tests, NULL, NULL);
}
