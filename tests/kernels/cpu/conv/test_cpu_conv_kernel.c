#include "kernels/cpu/conv/cpu_conv_kernel.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static CpuConv make_conv(int64_t filters, int64_t size) {
    return (CpuConv){.window = {.rank = 2,
                         .kernel = {3, 3},
                         .stride = {1, 1},
                         .dilation = {1, 1},
                         .pad_begin = {1, 1},
                         .pad_end = {1, 1},
                         .input = {size, size},
                         .output = {size, size}},
        .input_count = size * size,
        .output_count = size * size,
        .kernel_count = 9,
        .batch = 1,
        .groups = 1,
        .channels = 4,
        .filters = filters,
        .epilogue = {.alpha = 1, .bias_scale = 1}};
}

/* Few pixels: the filters are cut, so that threads have something to do; never finer than pays. */
static void test_conv_cuts_filters_when_there_are_few_pixels(void **state) {
    (void)state;
    CpuConv conv = make_conv(512, 7);
    cpu_conv_prepare(&conv, CPU_LEVEL_PORTABLE);
    assert_true(conv.filters_per_unit < 130 && conv.filters_per_unit >= 84);
    conv = make_conv(512, 100);
    cpu_conv_prepare(&conv, CPU_LEVEL_PORTABLE);
    assert_int_equal(conv.filters_per_unit, 180);
    conv = make_conv(5, 3);
    cpu_conv_prepare(&conv, CPU_LEVEL_PORTABLE);
    assert_int_equal(conv.filters_per_unit, 12);
}

static void test_conv_run_is_abandoned_when_asked(void **state) {
    (void)state;
    CpuDevice *device = (CpuDevice *)kernel_cpu_device();
    CpuConv conv = make_conv(5, 3);
    cpu_conv_prepare(&conv, device->level);
    float *x = kernel_random_floats(1, 4 * 9), *w = kernel_random_floats(2, 5 * 36), y[45] = {0};
    const CpuConvBuffers buffers = {.x = x, .w = w, .y = y};
    const Launch launch = {.threads = 1};
    KernelStop stop;
    kernel_stop_init(&stop);
    kernel_stop_want(&stop, KERNEL_STOP_ABANDON);
    kernel_stop_scope = (KernelStopScope){.stop = &stop, .whole = true};
    assert_fails(ABANDONED, cpu_conv_run(device, &conv, &buffers, &launch));
    kernel_stop_clear(&stop);
    kernel_stop_scope = (KernelStopScope){0};
    kernel_stop_deinit(&stop);
    assert_true(y[0] == 0);
    free(x);
    free(w);
}

int test_cpu_conv_kernel(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_cuts_filters_when_there_are_few_pixels),
        cmocka_unit_test(test_conv_run_is_abandoned_when_asked),
    };
    return cmocka_run_group_tests_name("cpu_conv_kernel", tests, NULL, NULL);
}
