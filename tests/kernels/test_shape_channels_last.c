#include "tests/kernels/infer_fixture.h"

static void test_rules_of_channels_last_are_those_of_channels_first(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"FusedConv", "{channels_last=1, pads=[1, 1, 1, 1], strides=[2, 1]}",
            "float32[2,7,9,3] float32[4,3,3,3] float32[4]", "float32[2, 4, 9, 4]"},
        {"FusedConv", "{channels_last=1}", "float32[1,5,5,3] float32[4,3,3,3] - float32[1,3,3,4]",
            "float32[1, 3, 3, 4]"},
        {"FusedConv", "{channels_last=1}", "float32[1,5,5,3] float32[4,3,3,3] - float32[1,4,3,3]",
            "! do not broadcast"},
        {"FusedConv", "{channels_last=1}", "float32[1,5,5,3] float32[4,3,3,3] - float16[1,3,3,4]",
            "! float16"},
        {"FusedConv", "{channels_last=1}", "float32[1,3,5,5] float32[4,3,3,3]", "! 5 channels"},
        {"FusedConv", "{channels_last=1}", "float32[5,5] float32[4,5]", "! an input of rank 2"},
        {"FusedPool", "{operator=\"MaxPool\", kernel_shape=[2, 3]}", "float32[2,7,9,3]",
            "float32[2, 6, 7, 3]"},
        {"FusedPool", "{operator=\"GlobalAveragePool\"}", "float16[2,7,9,3]",
            "float16[2, 1, 1, 3]"},
        {"FusedPool", "{operator=\"MaxPool\"}", "float32[2,7,9,3]", "! MaxPool needs kernel_shape"},
        {"FusedPool", "{operator=\"Conv\"}", "float32[2,7,9,3]", "! operator \"Conv\" is no pool"},
        {"FusedPool", "{operator=\"MaxPool\", kernel_shape=[2]}", "int8[2,7,3]",
            "! input 0 is int8"},
        {"FusedPool", "{operator=\"GlobalMaxPool\"}", "float32[2,3]", "! an image of rank 2"},
        {"FusedPool", "{operator=\"GlobalMaxPool\"}", "float32[2,0,3]", "! nothing in dimension 2"},
        {"FusedLRN", "{size=3}", "float32[2,7,9,3]", "float32[2, 7, 9, 3]"},
        {"FusedLRN", "{size=0}", "float32[2,7,9,3]", "! size 0"},
        {"FusedLRN", "{size=3}", "float32[2,7]", "! an image of rank 2"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_channels_last(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_of_channels_last_are_those_of_channels_first),
    };
    return cmocka_run_group_tests_name("shape_channels_last", tests, NULL, NULL);
}
