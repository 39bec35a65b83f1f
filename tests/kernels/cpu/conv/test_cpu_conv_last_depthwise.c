#include "kernels/cpu/conv/cpu_conv_last_depthwise.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/image_call.h"

/* batch, groups, channels, filters, rank, input, kernel, stride, dilation, begin, end */
static const ConvCase cases[] = {
    {1, 40, 1, 1, 2, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 19, 1, 1, 2, {15, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {1, 6, 1, 1, 2, {9, 10}, {5, 2}, {1, 3}, {2, 3}, {4, 1}, {0, 3}},
    {1, 3, 1, 1, 2, {2, 3}, {3, 3}, {1, 1}, {1, 1}, {4, 5}, {4, 5}},
    {1, 16, 1, 1, 2, {1, 3}, {1, 7}, {1, 1}, {1, 1}, {0, 3}, {0, 3}},
    /* rows that end with three, two and one pixels of a tile; many channels of one pixel */
    {1, 130, 1, 1, 2, {7, 7}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
    {1, 207, 1, 1, 2, {4, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 101, 1, 1, 2, {5, 11}, {3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}},
    {0, 16, 1, 1, 2, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    /* volumes: padding, steps, slices alone, slices apart, beyond the volume */
    {2, 40, 1, 1, 3, {4, 5, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {1, 19, 1, 1, 3, {5, 6, 9}, {3, 3, 3}, {2, 1, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {1, 33, 1, 1, 3, {6, 4, 5}, {5, 1, 1}, {1, 1, 1}, {1, 1, 1}, {2, 0, 0}, {2, 0, 0}},
    {1, 6, 1, 1, 3, {6, 4, 5}, {2, 2, 3}, {1, 1, 1}, {3, 2, 1}, {2, 0, 1}, {1, 1, 0}},
    {1, 16, 1, 1, 3, {1, 3, 4}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {4, 0, 0}, {3, 0, 0}},
};

static void test_depthwise_agrees_with_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        image_call_check(&cases[i], "cpu.conv_last_depthwise", 2e-5);
}

static void test_depthwise_packs_channels_side_by_side(void **state) {
    (void)state;
    enum { CHANNELS = 5, POSITIONS = 6 };
    const Shape shape = {4, {CHANNELS, 1, 2, 3}};
    float weights[CHANNELS * POSITIONS], packed[CHANNELS * POSITIONS];
    for (int i = 0; i < CHANNELS * POSITIONS; i++) weights[i] = (float)i;
    assert_int_equal(cpu_conv_last_depthwise_packed_count(&shape), CHANNELS * POSITIONS);
    cpu_conv_last_depthwise_pack(weights, &shape, packed);
    for (int c = 0; c < CHANNELS; c++)
        for (int p = 0; p < POSITIONS; p++)
            assert_true(packed[p * CHANNELS + c] == weights[c * POSITIONS + p]);
}

/* The vectors' width changes the speed and nothing else. */
static void test_depthwise_gives_the_same_bits_at_every_level(void **state) {
    (void)state;
    enum { CHANNELS = 43, SIDE = 6, COUNT = CHANNELS * SIDE * SIDE };
    float *x = kernel_random_floats(1, COUNT), *w = kernel_random_floats(2, CHANNELS * 9);
    float first[COUNT], found[COUNT];
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++) {
        const Launch launch = {.threads = 1};
        CpuConvLastDepthwise conv = {
            .window = {2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {SIDE, SIDE}, {SIDE, SIDE}},
            .slices = {.input = 1, .output = 1, .kernel = 1, .stride = 1, .dilation = 1},
            .images = 1,
            .channels = CHANNELS,
            .epilogue = {.alpha = 1, .bias_scale = 1},
        };
        const CpuConvLastBuffers buffers = {.x = x, .w = w, .y = level ? found : first};
        cpu_conv_last_depthwise_prepare(&conv, (CpuLevel)level);
        assert_ok(cpu_conv_last_depthwise_run(
            (CpuDevice *)kernel_cpu_device(), &conv, &buffers, &launch));
        if (level) assert_memory_equal(found, first, sizeof first);
    }
    free(x);
    free(w);
}

int test_cpu_conv_last_depthwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depthwise_agrees_with_the_definition),
        cmocka_unit_test(test_depthwise_packs_channels_side_by_side),
        cmocka_unit_test(test_depthwise_gives_the_same_bits_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_conv_last_depthwise", tests, NULL, NULL);
}
