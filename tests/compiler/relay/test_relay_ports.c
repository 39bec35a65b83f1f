#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_ports_take_tuples_apart(void **state) {
    (void)state;
    relay_expect("def @main(%p: (int32, (float32, int32))) { (%p.1, %p.0 + %p.1.1) }",
        "int32[] 1; float32[] 2; int32[] 3 -> float32[] 2; int32[] 3; int32[] 4");
    relay_expect_failure("def @main(%p: (int32, (float32, int32))) { %p.0 }",
        "int32[] 1; int32[] 2; int32[] 3", "input p.1.0 is int32, not float32");
    relay_expect_failure(
        "def @main(%x: Tensor[(2, ?), int32]) { %x }", "int32[3,1] 1 2 3", "input x");
}

int test_relay_ports(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_ports_take_tuples_apart),
    };
    return cmocka_run_group_tests_name("relay_ports", tests, NULL, NULL);
}
