#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void test_nnvm_build_norm_normalises(void **state) {
    (void)state;
    nnvm_expect("null; null; null; null; null; BatchNorm 0 1 2 3 4 eps=0; BatchNorm 0 1 2 3 4 "
                "eps=0 fix_gamma=False; heads 5 6",
        "float32[1,1,2] 1 3; float32[1] 2; float32[1] 1; float32[1] 1; float32[1] 4 -> "
        "float32[1,1,2] 1 2; float32[1,1,2] 1 3");
    nnvm_expect("null __shape__=(1,2,1); null; null; null; null; batch_norm 0 1 2 3 4 axis=-1 "
                "epsilon=0 scale=False center=False",
        "float32[1,2,1] 1 3; float32[1] 2; float32[1] 5; float32[1] 1; float32[1] 4 -> "
        "float32[1,2,1] 0 1");
    nnvm_expect("null; LRN 0 nsize=3 alpha=3 beta=1 knorm=1",
        "float32[1,2,1] 1 2 -> float32[1,2,1] 0.166667 0.333333");
    nnvm_refused(INVALID, "the size is 2, not odd", "null; LRN 0 nsize=2");
}

static void test_nnvm_build_norm_has_softmaxes_without_labels(void **state) {
    (void)state;
    nnvm_expect("null; null; SoftmaxOutput 0 1", "float32[1,2] 3 3 -> float32[1,2] 0.5 0.5");
    nnvm_expect("null; SoftmaxActivation 0; SoftmaxActivation 0 mode=channel; heads 1 2",
        "float32[1,2,2] 3 3 3 3 -> float32[1,2,2] 0.25 0.25 0.25 0.25; float32[1,2,2] 0.5 0.5 0.5 "
        "0.5");
    nnvm_expect("null; log_softmax 0; softmax 0 temperature=2; heads 2",
        "float32[1,2] 3 3 -> float32[1,2] 0.5 0.5");
}

int test_nnvm_build_norm(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_build_norm_normalises),
        cmocka_unit_test(test_nnvm_build_norm_has_softmaxes_without_labels),
    };
    return cmocka_run_group_tests_name("nnvm_build_norm", tests, NULL, NULL);
}
