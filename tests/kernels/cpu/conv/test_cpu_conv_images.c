#include "tests/kernels/fixtures/image_call.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
static const ConvCase direct = {1, 1, 3, 8, 2, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
static const ConvCase transformed = {
    1, 1, 16, 16, 2, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};

static void test_the_layout_of_the_weights_says_how_an_image_is_convolved(void **state) {
    (void)state;
    image_call_check(&direct, "cpu.conv_last", 2e-5);
    image_call_check(&transformed, "cpu.winograd", 1e-4);
}

int test_cpu_conv_images(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_layout_of_the_weights_says_how_an_image_is_convolved),
    };
    return cmocka_run_group_tests_name("cpu_conv_images", tests, NULL, NULL);
}
