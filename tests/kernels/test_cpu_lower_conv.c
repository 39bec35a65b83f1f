#include <math.h>

#include "tests/kernels/lower_fixture.h"

typedef struct Sizes {
    int64_t images, height, width, channels, filters, kernel_height, kernel_width;
    const char *attributes;
    int64_t output_height, output_width;
} Sizes;

static KernelCall call_of(bool int8, const Sizes *sizes, LowerOperands *out) {
    const Shape x = {4, {sizes->images, sizes->height, sizes->width, sizes->channels}};
    const Shape w = {
        4, {sizes->filters, sizes->channels, sizes->kernel_height, sizes->kernel_width}};
    const Shape y = {4, {sizes->images, sizes->output_height, sizes->output_width, sizes->filters}};
    return lower_fixture_call(
        int8, int8 ? "FusedConvInt8" : "FusedConvBFloat16", sizes->attributes, &x, &w, &y, out);
}

/* More than one tile in every direction, blocks of the depth, rows of outputs that do not fit a
 * tile, dilated windows. */
static void test_lower_convolutions_have_the_same_bits_however_they_run(void **state) {
    (void)state;
    static const Sizes sizes[] = {
        {2, 17, 9, 8, 70, 3, 3, "{activation=\"relu\", pads=[1, 1, 1, 1]}", 17, 9},
        {1, 4, 210, 20, 20, 3, 2, "{activation=\"gelu_erf\", dilations=[1, 2]}", 2, 208},
        {3, 7, 7, 132, 24, 3, 3, "{pads=[1, 0, 1, 2], strides=[2, 2]}", 4, 4},
        {1, 1, 1, 4, 1, 1, 1, "{}", 1, 1},
    };
    for (int int8 = 0; int8 < 2; int8++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            LowerOperands operands;
            const KernelCall call = call_of(int8, &sizes[i], &operands);
            lower_fixture_check_runs(&call);
            lower_fixture_free(&operands);
        }
}

/* Sums of integers: the portable device gives what every other does. */
static void test_int8_has_the_same_bits_on_the_portable_device(void **state) {
    (void)state;
    static const Sizes sizes = {2, 9, 8, 12, 33, 3, 3, "{pads=[1, 1, 1, 1]}", 9, 8};
    LowerOperands operands;
    const KernelCall call = call_of(true, &sizes, &operands);
    lower_fixture_check_portable(&call);
    lower_fixture_free(&operands);
}

static void test_images_without_a_finite_range_give_nan_alone(void **state) {
    (void)state;
    static const Sizes sizes = {3, 5, 5, 4, 6, 3, 3, NULL, 3, 3};
    LowerOperands operands;
    const KernelCall call = call_of(true, &sizes, &operands);
    operands.left[100 + 99] = -INFINITY; /* the second image's last */
    lower_fixture_check_nan(&call, 3, 54, 1);
    lower_fixture_free(&operands);
}

int test_cpu_lower_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_convolutions_have_the_same_bits_however_they_run),
        cmocka_unit_test(test_int8_has_the_same_bits_on_the_portable_device),
        cmocka_unit_test(test_images_without_a_finite_range_give_nan_alone),
    };
    return cmocka_run_group_tests_name("cpu_lower_conv", tests, NULL, NULL);
}
