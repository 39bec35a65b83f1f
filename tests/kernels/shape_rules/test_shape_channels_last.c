#include "tests/kernels/fixtures/infer_fixture.h"

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
        {"FusedPool", "{operator=\"MaxPool\", kernel_shape=[2]}", "int8[2,7,3]", "int8[2, 6, 3]"},
        {"FusedPool", "{operator=\"AveragePool\", kernel_shape=[2]}", "int8[2,7,3]",
            "! input 0 is int8"},
        {"FusedQLinearConv", "{channels_last=1, pads=[1, 1]}",
            "uint8[1,5,2] float32[] uint8[] int8[4,2,3] float32[4] int8[4] float32[] int8[] "
            "int32[4]",
            "int8[1, 5, 4]"},
        {"FusedQLinearConv", "{channels_last=1}",
            "uint8[1,2,5] float32[] uint8[] int8[4,2,3] float32[] int8[] float32[] int8[]",
            "! 5 channels in 1 groups with weights [4, 2, …]"},
        {"FusedPool", "{operator=\"GlobalMaxPool\"}", "float32[2,3]", "! an image of rank 2"},
        {"FusedPool", "{operator=\"GlobalMaxPool\"}", "float32[2,0,3]", "! nothing in dimension 2"},
        {"FusedLRN", "{size=3}", "float32[2,7,9,3]", "float32[2, 7, 9, 3]"},
        {"FusedLRN", "{size=0}", "float32[2,7,9,3]", "! size 0"},
        {"FusedLRN", "{size=3}", "float32[2,7]", "! an image of rank 2"},
        {"FusedConvBFloat16", "{pads=[1, 1, 1, 1], strides=[2, 1]}",
            "float32[2,7,9,3] bfloat16[4,3,3,3] float32[4] float32[2,4,9,4]",
            "float32[2, 4, 9, 4]"},
        {"FusedConvBFloat16", NULL, "float32[2,7,9,3] float32[4,3,3,3]", "! input 1 is float32"},
        {"FusedConvBFloat16", NULL, "float32[7,9,3] bfloat16[4,3,3]", "! input 0 has rank 3"},
        {"FusedConvBFloat16", NULL, "float32[2,3,9,7] bfloat16[4,3,3,3]", "! 7 channels"},
        {"FusedConvBFloat16", "{group=3}", "float32[2,7,9,3] bfloat16[3,1,3,3]", "! group 3"},
        {"FusedConvBFloat16", NULL, "float32[2,7,9,3] bfloat16[4,3,3,3] float32[3]",
            "! input 2 has shape"},
        {"FusedConvBFloat16", NULL, "float32[2,7,9,3] bfloat16[4,3,8,3]", "! a window of 8 over 7"},
        {"FusedConvInt8", NULL, "float32[2,7,9,3] int8[4,3,3,3] float32[4] - float32[2,5,7,4]",
            "float32[2, 5, 7, 4]"},
        {"FusedConvInt8", NULL, "float32[2,7,9,3] int8[4,3,3,3] float32[4] - float32[2,4,5,7]",
            "! input 4 has shape"},
        {"FusedConvInt8", NULL, "float32[2,7,9,3] uint8[4,3,3,3] float32[4]", "! input 1 is uint8"},
        {"FusedConvInt8", NULL, "float32[2,7,9,16385] int8[4,16385,2,2] float32[4]",
            "! filters of 65540 weights"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_channels_last(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_of_channels_last_are_those_of_channels_first),
    };
    return cmocka_run_group_tests_name("shape_channels_last", tests, NULL, NULL);
}
