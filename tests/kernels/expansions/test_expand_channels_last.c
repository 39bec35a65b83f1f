#include "tests/kernels/fixtures/expansion_text.h"

static void test_images_are_brought_into_the_other_order_and_back(void **state) {
    (void)state;
    static const ExpansionRow rows[] = {
        {"FusedConv", "{activation=\"relu\", channels_last=1}",
            "float32[1,5,5,3] float32[4,3,3,3] float32[4] float32[1,3,3,4]", 1,
            "Transpose(0) Conv(4 1 2) Transpose(5) Add(6 3) Relu(7) -> 8"},
        {"FusedPool", "{operator=\"AveragePool\", kernel_shape=[2, 2]}", "float32[1,5,5,3]", 1,
            "Transpose(0) AveragePool(1) Transpose(2) -> 3"},
        {"FusedPool", "{operator=\"GlobalMaxPool\"}", "float32[1,5,3]", 1,
            "Transpose(0) GlobalMaxPool(1) Transpose(2) -> 3"},
        {"FusedLRN", "{size=3}", "float32[1,5,5,3]", 1, "Transpose(0) LRN(1) Transpose(2) -> 3"},
    };
    expansion_text_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_channels_last(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_are_brought_into_the_other_order_and_back),
    };
    return cmocka_run_group_tests_name("expand_channels_last", tests, NULL, NULL);
}
