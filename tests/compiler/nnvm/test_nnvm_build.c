#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void test_nnvm_build_has_elementwise_operators(void **state) {
    (void)state;
    nnvm_expect("null __shape__=(2,2); null; elemwise_add 0 1; broadcast_mul 2 1; _rminus_scalar 3 "
                "scalar=10; clip 4 a_min=0 a_max=5; add_n 5 0 1",
        "float32[2,2] 1 2 3 4; float32[2,2] 1 1 1 2 -> float32[2,2] 7 8 9 6");
    nnvm_expect("null; _greater_scalar 0 scalar=2; broadcast_not_equal 0 1; where 1 0 2",
        "float32[3] 1 2 3 -> float32[3] 1 1 3");
    nnvm_expect("null; square 0; rsqrt 1; cast 2 dtype=int32", "float32[2] 1 -0.5 -> int32[2] 1 2");
}

static void test_nnvm_build_has_activations(void **state) {
    (void)state;
    nnvm_expect("null; Activation 0 act_type=relu; LeakyReLU 0 act_type=leaky slope=0.5; heads 1 2",
        "float32[2] -2 2 -> float32[2] 0 2; float32[2] -1 2");
    nnvm_expect("null __shape__=(1,2,1); null; LeakyReLU 0 1 act_type=prelu",
        "float32[1,2,1] -2 -2; float32[2] 0.5 0.25 -> float32[1,2,1] -1 -0.5");
    nnvm_refused(UNSUPPORTED,
        "act_type is \"swish\"; relu, sigmoid, tanh, softrelu and softsign are read",
        "null; Activation 0 act_type=swish");
    nnvm_refused(INVALID, "act_type prelu with 1 inputs", "null; LeakyReLU 0 act_type=prelu");
}

int test_nnvm_build(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_build_has_elementwise_operators),
        cmocka_unit_test(test_nnvm_build_has_activations),
    };
    return cmocka_run_group_tests_name("nnvm_build", tests, NULL, NULL);
}
