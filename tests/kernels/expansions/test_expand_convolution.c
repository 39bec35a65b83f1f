#include "tests/kernels/fixtures/infer_fixture.h"

static void test_causal_conv_keeps_what_the_next_call_needs(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"CausalConvWithState", NULL, "float32[2,3,5] float32[3,1,4]",
            "float32[2, 3, 5] float32[2, 3, 3]"},
        {"CausalConvWithState", "{activation=\"silu\"}",
            "float16[2,3,0] float16[3,1,4] float16[3] float16[2,3,3]",
            "float16[2, 3, 0] float16[2, 3, 3]"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_causal_conv_refuses_what_does_not_fit(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"CausalConvWithState", NULL, "int32[2,3,5] int32[3,1,4]", "! input 0 is int32"},
        {"CausalConvWithState", NULL, "float32[2,3,5] float16[3,1,4]",
            "! input 1 is float16, input 0 float32"},
        {"CausalConvWithState", NULL, "float32[2,3] float32[3,1,4]",
            "! an input of rank 2 and a kernel of rank 3, not 3"},
        {"CausalConvWithState", NULL, "float32[2,3,5] float32[4,1,4]",
            "! a kernel of [4, 1, 4] for 3 channels"},
        {"CausalConvWithState", NULL, "float32[2,3,5] float32[3,1,0]", "! a kernel of [3, 1, 0]"},
        {"CausalConvWithState", NULL, "float32[2,3,5] float32[3,1,4] float32[4]",
            "! input 2 does not have the shape"},
        {"CausalConvWithState", NULL, "float32[2,3,5] float32[3,1,4] - float32[2,3,4]",
            "! input 3 does not have the shape"},
        {"CausalConvWithState", "{activation=\"relu\"}", "float32[2,3,5] float32[3,1,4]",
            "! activation \"relu\""},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_convolution(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causal_conv_keeps_what_the_next_call_needs),
        cmocka_unit_test(test_causal_conv_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("expand_convolution", tests, NULL, NULL);
}
