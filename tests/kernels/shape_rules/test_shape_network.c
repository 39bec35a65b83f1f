#include "tests/kernels/fixtures/infer_fixture.h"

static void test_network_rules_check_channels(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Conv", NULL, "float32[1,3,5,5] float32[4,3,3,3] float32[4]", "float32[1, 4, 3, 3]"},
        {"Conv", NULL, "float32[1,3,5,5] float32[4,3,3,3] float32[3]", "! input 2 has shape"},
        {"Conv", NULL, "float32[1,3,5,5] float32[4,2,3,3]", "! 3 channels in 1 groups"},
        {"Conv", "{group=2}", "float32[1,4,5,5] float32[3,2,3,3]", "! 4 channels in 2 groups"},
        {"Conv", NULL, "float32[1,3] float32[4,3]", "! an input of rank 2"},
        {"Conv", NULL, "float32[1,3,2,2] float32[4,3,3,3]", "! a window of 3 over 2"},
        {"Conv", NULL, "float32[1,3,5,5] float32[4,3,0,3]", "! a kernel of 0"},
        {"ConvTranspose", "{group=2}", "float32[1,4,5] float32[4,3,2]", "float32[1, 6, 6]"},
        {"ConvTranspose", NULL, "float32[1,4,5] float32[3,3,2]", "! 4 channels in 1 groups"},
        {"MaxPool", "{kernel_shape=[2]}", "float32[1,3,5]", "float32[1, 3, 4] int64[1, 3, 4]"},
        {"MaxPool", "{kernel_shape=[2, 2]}", "float32[1,3,5]", "! kernel_shape has 2 elements"},
        {"AveragePool", "{kernel_shape=[0]}", "float32[1,3,5]", "! kernel_shape contains 0"},
        {"GlobalMaxPool", NULL, "float32[2,3,4,5]", "float32[2, 3, 1, 1]"},
        {"GlobalMaxPool", NULL, "float32[2,3,0,5]", "! nothing in dimension 2"},
        {"BatchNormalization", NULL, "float32[2,3] float32[3] float32[3] float32[3] float32[3]",
            "float32[2, 3]"},
        {"BatchNormalization", NULL, "float32[2,3] float32[3] float32[3] float32[2] float32[3]",
            "! input 3 has shape"},
        {"BatchNormalization", "{training_mode=1}",
            "float32[2,3] float16[3] float16[3] float64[3] float64[3]",
            "float32[2, 3] float64[3] float64[3]"},
        {"BatchNormalization", "{training_mode=1}",
            "float32[0,3] float32[3] float32[3] float32[3] float32[3]",
            "! training_mode without elements"},
        {"LayerNormalization", "{axis=1}", "float16[2,3,4] float16[3,4]",
            "float16[2, 3, 4] float32[2, 1, 1] float32[2, 1, 1]"},
        {"LayerNormalization", NULL, "float32[3,4] float32[2,3,4]", "! input 1 does not broadcast"},
        {"RMSNormalization", NULL, "float32[3,4] float32[4]", "float32[3, 4]"},
        {"InstanceNormalization", NULL, "float32[2,3,4] float32[3] float32[2]",
            "! input 2 has shape [2], not [3]"},
        {"LRN", "{size=0}", "float32[2,3,4]", "! size 0"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_pools_and_their_inverses_say_what_they_refuse(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"LpPool", "{kernel_shape=[2], ceil_mode=1, strides=[2]}", "float16[1,3,5]",
            "float16[1, 3, 3]"},
        {"LpPool", "{kernel_shape=[2], p=0}", "float32[1,3,5]", "! p 0"},
        {"LpPool", "{kernel_shape=[2]}", "int8[1,3,5]", "! input 0 is int8"},
        {"GlobalLpPool", NULL, "float32[1,3,5,4]", "float32[1, 3, 1, 1]"},
        {"GlobalLpPool", "{p=-1}", "float32[1,3,5,4]", "! p -1"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2]}", "float32[1,3,5] int64[1,3,5]",
            "float32[1, 3, 10]"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2]}",
            "float32[1,3,5] int64[1,3,5] int64[3]=1,3,11", "float32[1, 3, 11]"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2]}",
            "float32[1,3,5] int64[1,3,5] int64[3]=1,3,9", "float32[1, 3, 9]"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2]}",
            "float32[1,3,5] int64[1,3,5] int64[3]=1,3,8",
            "! dimension 2 of output_shape is 8 for 10"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2], pads=[1, 1]}",
            "float32[1,3,1] int64[1,3,1] int64[3]=1,3,1", "float32[1, 3, 1]"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2], pads=[1, 1]}",
            "float32[1,3,1] int64[1,3,1] int64[3]=1,3,0",
            "! dimension 2 of output_shape is 0 for 0"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2]}",
            "float32[1,3,5] int64[1,3,5] int64[3]=2,3,10", "! dimension 0 of output_shape is 2"},
        {"MaxUnpool", "{kernel_shape=[2], strides=[2]}",
            "float32[1,3,5] int64[1,3,5] int64[3]=1,4,10",
            "! dimension 1 of output_shape is 4 for 3"},
        {"MaxUnpool", "{kernel_shape=[2]}", "float32[1,3,5] int64[1,3,5] int64[2]=3,10",
            "! an output_shape of 2 dimensions, not 3"},
        {"MaxUnpool", "{kernel_shape=[2]}", "float32[1,3,5] int64[1,3,4]", "! input 1 has shape"},
        {"MaxUnpool", "{kernel_shape=[2]}", "float32[1,3,5] int32[1,3,5]", "! input 1 is int32"},
        {"DeformConv", NULL, "float32[1,4,5] float32[6,4,2] float32[1,2,4]", "float32[1, 6, 4]"},
        {"DeformConv", "{offset_group=2}",
            "float32[1,4,5] float32[6,4,2] float32[1,4,4] float32[6] float32[1,4,4]",
            "float32[1, 6, 4]"},
        {"DeformConv", "{offset_group=3}", "float32[1,4,5] float32[6,4,2] float32[1,2,4]",
            "! 4 channels in 3 groups of offsets"},
        {"DeformConv", NULL, "float32[1,4,5] float32[6,4,2] float32[1,2,5]",
            "! input 2 has shape [1, 2, 5], not [1, 2, 4]"},
        {"DeformConv", NULL, "float32[1,4,5] float32[6,4,2] float32[1,2,4] - float32[1,1,4]",
            "! input 4 has shape [1, 1, 4], not [1, 2, 4]"},
        {"DeformConv", NULL, "float32[1,4,5] float32[6,4,2] float32[1,2,4] float64[6]",
            "! input 0 is float32, input 3 is float64"},
        {"DeformConv", "{group=2}", "float32[1,4,5] float32[6,4,2] float32[1,2,4]",
            "! 4 channels in 2 groups"},
        {"DeformConv", "{offset_group=4611686018427387904}",
            "float32[1,0,5] float32[6,0,2] float32[1,2,4]", "! too many sampling points"},
        {"DeformConv", "{offset_group=2305843009213693952}",
            "float32[1,0,5,5] float32[6,0,1,2] float32[1,2,5,4]", "! too many sampling points"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_network(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_rules_check_channels),
        cmocka_unit_test(test_pools_and_their_inverses_say_what_they_refuse),
    };
    return cmocka_run_group_tests_name("shape_network", tests, NULL, NULL);
}
