#include "compiler/relay/relay_operators.h"

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_operators_refuse_wrong_calls(void **state) {
    (void)state;
    relay_refused(
        INVALID, "line 1, column 15: add takes 2 arguments, not 1", "def @main() { add(1) }");
    relay_refused(UNSUPPORTED, "line 1, column 23: nn.relu has no attribute foo; it has none",
        "def @main() { nn.relu(foo=1, 1f) }");
    relay_refused(INVALID,
        "argument 1 of concatenate is of type Tensor[(), int32], not a tuple of tensors",
        "def @main() { concatenate(1) }");
    relay_refused(INVALID, "argument 1 of add is of type (Tensor[(), int32],), not a tensor",
        "def @main() { add((1,), 2) }");
    relay_refused(INVALID, "line 1, column 71: nn.dense: MatMul: 4 columns times 6 rows",
        "def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(5, 6), float32]) { nn.dense(%x, %w) }");
    relay_refused(INVALID, "add:", "def @main() { 1 + 2f }");
}

int test_relay_operators(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_operators_refuse_wrong_calls),
    };
    return cmocka_run_group_tests_name("relay_operators", tests, NULL, NULL);
}
