#include "kernels/cpu/conv/cpu_conv_slices.h"

#include "tests/kernels/fixtures/kernel_call.h"

static void check(
    const CpuConvSlices *slices, int64_t output, int64_t begin, int64_t end, int64_t first) {
    const CpuSlicesInside inside = cpu_conv_slices_inside(slices, output);
    assert_int_equal(inside.begin, begin);
    assert_int_equal(inside.end, end);
    assert_int_equal(inside.first, first);
    assert_int_equal(inside.step, slices->dilation);
}

static void test_slices_are_those_inside_their_volume(void **state) {
    (void)state;
    const CpuConvSlices slices = {
        .input = 4, .output = 4, .kernel = 3, .stride = 1, .dilation = 1, .pad = 1};
    check(&slices, 0, 1, 3, -1);
    check(&slices, 1, 0, 3, 0);
    check(&slices, 3, 0, 2, 2);
    /* the second volume */
    check(&slices, 4, 1, 3, 3);
    check(&slices, 7, 0, 2, 6);
}

static void test_slices_have_steps(void **state) {
    (void)state;
    const CpuConvSlices slices = {
        .input = 5, .output = 4, .kernel = 2, .stride = 3, .dilation = 4, .pad = 3};
    check(&slices, 0, 1, 2, -3);
    check(&slices, 1, 0, 2, 0);
    check(&slices, 2, 0, 1, 3);
    check(&slices, 3, 0, 0, 6);
    /* padding alone, before the volume */
    const CpuConvSlices before = {
        .input = 1, .output = 9, .kernel = 2, .stride = 1, .dilation = 1, .pad = 5};
    check(&before, 1, 2, 2, -4);
}

static void test_slices_are_the_first_of_three_dimensions(void **state) {
    (void)state;
    Window window = {.rank = 3,
        .kernel = {3, 5, 7},
        .stride = {2, 1, 1},
        .dilation = {4, 1, 1},
        .pad_begin = {6, 2, 3},
        .pad_end = {1, 2, 3},
        .input = {20, 30, 40},
        .output = {10, 30, 40}};
    const CpuConvSlices slices = cpu_conv_slices_cut(&window);
    assert_int_equal(slices.input, 20);
    assert_int_equal(slices.output, 10);
    assert_int_equal(slices.kernel, 3);
    assert_int_equal(slices.stride, 2);
    assert_int_equal(slices.dilation, 4);
    assert_int_equal(slices.pad, 6);
    assert_int_equal(window.rank, 2);
    assert_int_equal(window.kernel[0], 5);
    assert_int_equal(window.pad_end[1], 3);
    assert_int_equal(window.output[1], 40);
    const CpuConvSlices one = cpu_conv_slices_cut(&window);
    assert_int_equal(window.rank, 2);
    check(&one, 12, 0, 1, 12);
}

int test_cpu_conv_slices(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_are_those_inside_their_volume),
        cmocka_unit_test(test_slices_have_steps),
        cmocka_unit_test(test_slices_are_the_first_of_three_dimensions),
    };
    return cmocka_run_group_tests_name("cpu_conv_slices", tests, NULL, NULL);
}
