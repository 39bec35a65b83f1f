#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_build_reduce_reduces(void **state) {
    (void)state;
    relay_expect(
        "def @main(%x: Tensor[(2, 2), float32]) {\n"
        "  (sum(%x), mean(%x, axis=[0]), max(%x, axis=0, exclude=True), prod(%x, keepdims=True),\n"
        "   any(greater(%x, 3f)), all(greater(%x, 3f), axis=1), argmax(%x, axis=1), argmin(%x),\n"
        "   cumsum(%x, axis=1), topk(%x, k=1), topk(%x, k=1, ret_type=\"indices\", "
        "is_ascend=True)) }",
        "float32[2,2] 1 4 3 2 -> float32[] 10; float32[2] 2 3; float32[2] 4 3; float32[1,1] 24; "
        "bool[] 1; bool[2] 0 0; "
        "int32[2] 1 0; int32[] 0; float32[2,2] 1 5 3 5; float32[2,1] 4 3; int32[2,1] 1 0; "
        "int32[2,1] 0 1");
}

int test_relay_build_reduce(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_build_reduce_reduces),
    };
    return cmocka_run_group_tests_name("relay_build_reduce", tests, NULL, NULL);
}
