#include "kernels/cpu/conv/cpu_conv_last.h"

#include "tests/kernels/fixtures/image_call.h"

static void test_conv_last_packs_panels_of_filters_by_position(void **state) {
    (void)state;
    enum { FILTERS = 66, CHANNELS = 2, POSITIONS = 6 };
    const Shape shape = {4, {FILTERS, CHANNELS, 2, 3}};
    float weights[FILTERS * CHANNELS * POSITIONS], packed[80 * CHANNELS * POSITIONS];
    for (int i = 0; i < FILTERS * CHANNELS * POSITIONS; i++) weights[i] = (float)i;
    assert_int_equal(
        cpu_conv_last_packed_count(&shape, 1), (int64_t)(sizeof packed / sizeof packed[0]));
    for (CpuLevel level = CPU_LEVEL_PORTABLE; level <= CPU_LEVEL_AVX512; level++) {
        const CpuMatmulCode code = cpu_matmul_code_for(level);
        const CpuPanelSteps first = cpu_matmul_panel_steps(&code, CHANNELS * POSITIONS, 64);
        const float *second = packed + 64 * CHANNELS * POSITIONS;
        cpu_conv_last_pack(level, weights, &shape, 1, packed);
        for (int c = 0; c < CHANNELS; c++)
            for (int p = 0; p < POSITIONS; p++) {
                const int row = p * CHANNELS + c;
                assert_true(packed[row * first.row + cpu_matmul_panel_offset(first, 37)] ==
                            weights[(37 * CHANNELS + c) * POSITIONS + p]);
                assert_true(second[row * 16 + 1] == weights[(65 * CHANNELS + c) * POSITIONS + p]);
                assert_true(second[row * 16 + 2] == 0);
            }
    }
}

int test_cpu_conv_last_pack(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_last_packs_panels_of_filters_by_position),
    };
    return cmocka_run_group_tests_name("cpu_conv_last_pack", tests, NULL, NULL);
}
