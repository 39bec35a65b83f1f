#include "tests/kernels/infer_fixture.h"

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

int test_shape_network(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_rules_check_channels),
    };
    return cmocka_run_group_tests_name("shape_network", tests, NULL, NULL);
}
