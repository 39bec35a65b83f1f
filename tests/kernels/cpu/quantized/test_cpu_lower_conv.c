#include <math.h>

#include "tests/kernels/fixtures/lower_fixture.h"

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

static void test_windows_with_a_nan_give_nan_alone(void **state) {
    (void)state;
    static const Sizes sizes = {3, 5, 5, 4, 6, 3, 3, NULL, 3, 3};
    LowerOperands operands;
    const KernelCall call = call_of(true, &sizes, &operands);
    operands.left[100 + 99] = NAN; /* the second image's last: its last window sees it */
    lower_fixture_check_nan(&call, 27, 6, 17);
    lower_fixture_free(&operands);
}

static void test_infinities_are_multiplied_as_they_are(void **state) {
    (void)state;
    static const Sizes sizes = {
        2, 5, 7, 4, 70, 3, 2, "{pads=[1, 0, 0, 1], dilations=[1, 2]}", 4, 6};
    LowerOperands operands;
    KernelResult result;
    const KernelCall call = call_of(true, &sizes, &operands);
    const int8_t *weights = operands.weights;
    operands.left[140] = INFINITY; /* the second image's first */
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    for (int64_t i = 0; i < 2 * 24 * 70; i++) {
        const int64_t pixel = i / 70, filter = i % 70;
        /* output (0, 0) sees it below the padding, (1, 0) in its first row; others do not */
        const int64_t tap = pixel == 24 ? 2 : pixel == 30 ? 0 : -1;
        const double got = kernel_result_at(&result, 0, i);
        if (tap < 0) {
            assert_true(isfinite(got));
            continue;
        }
        const float wanted = INFINITY * (float)weights[filter * 24 + tap] * operands.scales[filter];
        assert_true(isnan(wanted) ? isnan(got) : got == (double)wanted);
    }
    kernel_result_deinit(&result);
    lower_fixture_check_portable(&call);
    lower_fixture_check_runs(&call);
    lower_fixture_free(&operands);
}

int test_cpu_lower_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_convolutions_have_the_same_bits_however_they_run),
        cmocka_unit_test(test_int8_has_the_same_bits_on_the_portable_device),
        cmocka_unit_test(test_windows_with_a_nan_give_nan_alone),
        cmocka_unit_test(test_infinities_are_multiplied_as_they_are),
    };
    return cmocka_run_group_tests_name("cpu_lower_conv", tests, NULL, NULL);
}
