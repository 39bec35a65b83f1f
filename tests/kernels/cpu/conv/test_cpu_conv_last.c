#include "kernels/cpu/conv/cpu_conv_last.h"

#include "tests/kernels/fixtures/image_call.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
static const ConvCase cases[] = {
    {1, 1, 3, 8, 2, {9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {2, 1, 3, 20, 2, {23, 17}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
    {1, 1, 33, 100, 2, {7, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 4, 6, 2, {10, 10}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 4, 6, 2, {10, 10}, {1, 1}, {1, 1}, {1, 1}, {1, 0}, {0, 2}},
    {2, 1, 2, 3, 2, {12, 9}, {3, 2}, {1, 2}, {2, 3}, {2, 1}, {0, 3}},
    {1, 1, 40, 65, 2, {6, 5}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
    {1, 1, 2, 3, 2, {2, 3}, {3, 3}, {1, 1}, {1, 1}, {4, 5}, {4, 5}},
    {1, 1, 2, 17, 2, {5, 250}, {1, 4}, {1, 1}, {1, 1}, {0, 2}, {0, 1}},
    {1, 1, 150, 16, 2, {20, 30}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    /* groups: of one pixel, with padding, with two panels, of one channel with two filters each */
    {2, 4, 34, 34, 2, {11, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 3, 5, 7, 2, {9, 8}, {3, 3}, {1, 2}, {2, 1}, {1, 2}, {1, 0}},
    {1, 2, 9, 90, 2, {6, 7}, {2, 3}, {2, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 5, 1, 2, 2, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    /* few units: parts of panels, few rows, pieces of one row */
    {1, 1, 20, 70, 2, {7, 7}, {3, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 0}},
    {1, 1, 20, 10, 2, {1, 95}, {1, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    /* images of one column: padded, dilated, in groups, with a stride over padding beside it */
    {2, 1, 20, 70, 2, {95, 1}, {5, 1}, {1, 1}, {1, 1}, {2, 0}, {1, 0}},
    {1, 3, 5, 7, 2, {40, 1}, {3, 1}, {2, 1}, {2, 1}, {0, 0}, {0, 0}},
    {1, 1, 5, 7, 2, {40, 1}, {3, 1}, {1, 2}, {1, 1}, {1, 1}, {1, 0}},
    /* outputs of one column; a step from row to row that continues a row's */
    {2, 1, 20, 70, 2, {60, 4}, {3, 4}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 2, 9, 20, 2, {60, 3}, {2, 3}, {2, 1}, {1, 2}, {1, 1}, {0, 2}},
    {1, 1, 9, 20, 2, {33, 6}, {1, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}},
    /* padded and dilated: rows together, rows cut, steps, beyond the image, groups, one row */
    {2, 1, 150, 70, 2, {14, 14}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
    {1, 1, 20, 17, 2, {5, 110}, {3, 3}, {1, 1}, {3, 5}, {3, 5}, {3, 5}},
    {1, 1, 7, 9, 2, {11, 12}, {3, 4}, {2, 3}, {4, 2}, {5, 1}, {2, 6}},
    {1, 1, 9, 33, 2, {6, 7}, {3, 3}, {1, 1}, {12, 9}, {12, 9}, {12, 9}},
    {2, 3, 16, 20, 2, {9, 8}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}},
    {1, 1, 24, 16, 2, {1, 40}, {1, 5}, {1, 1}, {1, 4}, {0, 16}, {0, 0}},
    /* volumes: a cube with padding, steps, one slice, slices alone, groups, beyond the volume */
    {2, 1, 9, 70, 3, {5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {1, 1, 3, 20, 3, {7, 9, 11}, {3, 5, 5}, {1, 2, 2}, {1, 1, 1}, {1, 2, 2}, {1, 2, 2}},
    {1, 1, 20, 33, 3, {4, 8, 9}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {2, 1, 20, 33, 3, {7, 5, 6}, {3, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}},
    {1, 1, 20, 33, 3, {7, 5, 6}, {1, 1, 1}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {1, 2, 5, 7, 3, {4, 5, 6}, {2, 3, 2}, {1, 1, 2}, {2, 1, 1}, {1, 0, 1}, {0, 0, 1}},
    {1, 1, 3, 7, 3, {2, 3, 4}, {3, 2, 2}, {1, 1, 1}, {1, 1, 1}, {5, 1, 0}, {4, 0, 1}},
    {2, 1, 9, 20, 3, {5, 8, 9}, {3, 3, 3}, {1, 1, 1}, {2, 2, 3}, {2, 2, 3}, {2, 2, 3}},
    {1, 1, 300, 16, 3, {2, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};

static void test_conv_last_agrees_with_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        image_call_check(&cases[i], "cpu.conv_last", 2e-5);
}

static CpuConvLast prepare_signal(uint32_t side, CpuLevel level) {
    CpuConvLast conv = {.images = 1, .groups = 1, .channels = 256, .filters = 512};
    Window *window = &conv.window;
    window->rank = 2;
    conv.slices = cpu_conv_slices_cut(window);
    for (uint32_t i = 0; i < 2; i++) {
        window->kernel[i] = i == side ? 5 : 1;
        window->stride[i] = window->dilation[i] = 1;
        window->input[i] = i == side ? 512 : 1;
        window->output[i] = i == side ? 508 : 1;
    }
    cpu_conv_last_prepare(&conv, level);
    return conv;
}

/* A column cut like an image of 508 rows would be one call of the inner kernel for each pixel. */
static void test_conv_last_cuts_a_column_as_a_row(void **state) {
    (void)state;
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= CPU_LEVEL_AVX512; level++) {
        const CpuConvLast column = prepare_signal(0, level), row = prepare_signal(1, level);
        assert_memory_equal(&column.window, &row.window, sizeof(Window));
        assert_int_equal(column.columns, row.columns);
        assert_int_equal(column.rows, 1);
        assert_int_equal(cpu_conv_last_units(&column), cpu_conv_last_units(&row));
    }
}

int test_cpu_conv_last(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_last_agrees_with_the_definition),
        cmocka_unit_test(test_conv_last_cuts_a_column_as_a_row),
    };
    return cmocka_run_group_tests_name("cpu_conv_last", tests, NULL, NULL);
}
