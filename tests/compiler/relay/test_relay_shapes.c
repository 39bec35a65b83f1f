#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_shapes_follow_operators(void **state) {
    (void)state;
    /* the declared result agrees with what the operators' rules say, unknown dimensions included */
    relay_expect("def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) -> "
                 "Tensor[(?, 3), float32] {\n"
                 "  nn.dense(%x, %w) }",
        "float32[1,4] 1 2 3 4; float32[3,4] 1 0 0 0 0 1 0 0 0 0 1 1 -> float32[1,3] 1 2 7");
    relay_refused(INVALID,
        "the function's result is of type Tensor[(?, 3), float32], not Tensor[(?, 4), float32]",
        "def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(?, 4), "
        "float32] {\n"
        "  nn.dense(%x, %w) }");
}

int test_relay_shapes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_shapes_follow_operators),
    };
    return cmocka_run_group_tests_name("relay_shapes", tests, NULL, NULL);
}
