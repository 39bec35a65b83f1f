#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_build_make_makes_tensors(void **state) {
    (void)state;
    relay_expect(
        "def @main(%x: Tensor[(2), float32]) {\n"
        "  (zeros(shape=[2], dtype=\"int32\"), ones(shape=(1, 2)), full(3, shape=[2], "
        "dtype=\"float32\"),\n"
        "   zeros_like(%x), ones_like(%x), full_like(%x, 7), arange(0, 3, 1), shape_of(%x),\n"
        "   ndarray_size(%x, dtype=\"int64\"), broadcast_to(%x, shape=[2, 2])) }",
        "float32[2] inf nan -> int32[2] 0 0; float32[1,2] 1 1; float32[2] 3 3; float32[2] 0 0; "
        "float32[2] 1 1; "
        "float32[2] 7 7; int32[3] 0 1 2; int32[1] 2; int64[] 2; float32[2,2] inf nan inf nan");
    relay_expect(
        "def @main(%x: Tensor[(?), float32], %s: Tensor[(2), int32]) { dyn.reshape(%x, %s) }",
        "float32[2] 1 2; int32[2] 2 1 -> float32[2,1] 1 2");
}

int test_relay_build_make(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_build_make_makes_tensors),
    };
    return cmocka_run_group_tests_name("relay_build_make", tests, NULL, NULL);
}
