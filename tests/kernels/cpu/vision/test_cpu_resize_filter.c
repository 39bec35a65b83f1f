#include "kernels/cpu/vision/cpu_resize_filter.h"

#include "tests/support/test_support.h"

static ResizeAxis axis_of(int64_t input, int64_t output) {
    const double to = (double)output, from = (double)input;
    return (ResizeAxis){input, output, to, from, to, 0, 1};
}

static void test_an_axis_that_stays_has_no_taps(void **state) {
    (void)state;
    ResizeArguments resize = {.mode = RESIZE_LINEAR};
    ResizeAxis axis = axis_of(5, 5);
    assert_int_equal(cpu_resize_filter_taps(&resize, &axis), 0);
    resize.coordinates = RESIZE_TF_HALF_PIXEL_FOR_NN; /* batches and channels, too */
    assert_int_equal(cpu_resize_filter_taps(&resize, &axis), 0);
    resize.coordinates = RESIZE_TF_CROP_AND_RESIZE;
    assert_int_equal(cpu_resize_filter_taps(&resize, &axis), 0);
    axis.start = 0.25;
    assert_true(cpu_resize_filter_taps(&resize, &axis) > 0);
}

static void test_weights_at_the_ends_add_up_or_count_for_nothing(void **state) {
    (void)state;
    ResizeArguments resize = {.mode = RESIZE_CUBIC, .cubic_a = -0.75};
    const ResizeAxis axis = axis_of(4, 8);
    CpuResizeSpan spans[8];
    double weights[8 * 5];
    const int64_t taps = cpu_resize_filter_taps(&resize, &axis);
    assert_int_equal(taps, 4);
    for (int excludes = 0; excludes < 2; excludes++) {
        resize.exclude_outside = excludes != 0;
        cpu_resize_filter_fill(&resize, &axis, taps, spans, weights);
        for (int64_t i = 0; i < 8; i++) {
            double total = 0;
            assert_true(spans[i].first >= 0 && spans[i].first + spans[i].count <= 4);
            for (int64_t k = 0; k < spans[i].count; k++) total += weights[i * taps + k];
            assert_true(total > 1 - 1e-12 && total < 1 + 1e-12);
        }
    }
    /* x = -0.25: two elements of four are outside and excluded */
    assert_int_equal(spans[0].first, 0);
    assert_int_equal(spans[0].count, 2);
}

static void test_antialiasing_reaches_as_far_as_it_shrinks(void **state) {
    (void)state;
    ResizeArguments resize = {.mode = RESIZE_LINEAR, .antialias = true};
    ResizeAxis axis = axis_of(100, 10);
    CpuResizeSpan spans[10];
    static double weights[10 * 32];
    const int64_t taps = cpu_resize_filter_taps(&resize, &axis);
    assert_int_equal(taps, 21);
    cpu_resize_filter_fill(&resize, &axis, taps, spans, weights);
    assert_int_equal(spans[5].first, 45);
    assert_int_equal(spans[5].count, 20);
    axis = axis_of(10, 100); /* not when it grows */
    assert_int_equal(cpu_resize_filter_taps(&resize, &axis), 3);
}

static void test_nearest_rounds_as_it_is_told(void **state) {
    static const ResizeRounding roundings[4] = {
        RESIZE_ROUND_PREFER_FLOOR, RESIZE_ROUND_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL};
    static const int64_t expected[4][4] = {{0, 0, 1, 1}, {0, 1, 1, 1}, {0, 0, 1, 1}, {0, 1, 1, 1}};
    (void)state;
    for (int k = 0; k < 4; k++) {
        /* at 0, 0.5, 1, 1.5 */
        const ResizeArguments resize = {.rounding = roundings[k], .coordinates = RESIZE_ASYMMETRIC};
        const ResizeAxis axis = axis_of(2, 4);
        CpuResizeSpan spans[4];
        double weights[4];
        cpu_resize_filter_fill(&resize, &axis, 1, spans, weights);
        for (int i = 0; i < 4; i++) assert_int_equal(spans[i].first, expected[k][i]);
    }
}

int test_cpu_resize_filter(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_axis_that_stays_has_no_taps),
        cmocka_unit_test(test_weights_at_the_ends_add_up_or_count_for_nothing),
        cmocka_unit_test(test_antialiasing_reaches_as_far_as_it_shrinks),
        cmocka_unit_test(test_nearest_rounds_as_it_is_told),
    };
    return cmocka_run_group_tests_name("cpu_resize_filter", tests, NULL, NULL);
}
