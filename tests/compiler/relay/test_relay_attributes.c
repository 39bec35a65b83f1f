#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_attributes_have_kinds(void **state) {
    (void)state;
    relay_refused(INVALID, "attribute axis is 1.5, not an integer",
        "def @main(%x: Tensor[(2), float32]) { nn.softmax(%x, axis=1.5) }");
    relay_refused(INVALID, "attribute axis is 3; the tensor has 1 dimensions",
        "def @main(%x: Tensor[(2), float32]) { cumsum(%x, axis=3) }");
    relay_refused(INVALID, "attribute dtype is floaty, which is no element type",
        "def @main() { cast(1, dtype=\"floaty\") }");
    relay_refused(INVALID, "attribute newshape is \"a\", not a list of integers",
        "def @main() { reshape(1, newshape=[1, \"a\"]) }");
    relay_refused(INVALID, "attribute alpha is \"x\", not a number",
        "def @main() { nn.leaky_relu(1f, alpha=\"x\") }");
}

int test_relay_attributes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_attributes_have_kinds),
    };
    return cmocka_run_group_tests_name("relay_attributes", tests, NULL, NULL);
}
