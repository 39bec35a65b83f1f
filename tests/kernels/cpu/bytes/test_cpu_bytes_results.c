#include "kernels/cpu/bytes/cpu_bytes_results.h"

#include "tests/kernels/fixtures/kernel_call.h"

/* An output of 2 x 3 pixels of three filters; the block is pixels 1 and 2 of the second row and
 * filters 1 and 2. */
static void check(bool quantizes, bool to_planes, const int32_t *places) {
    enum { COUNT = 2 * 3 * 3 };
    static const int32_t bias[] = {9, 10, 20};
    static const float factors[] = {9, 1, 0.5f};
    static const CpuBytesBlock block = {
        .row = 1, .rows = 1, .pixel = 1, .pixels = 2, .filter = 1, .filters = 2};
    int32_t sums[2 * CPU_LOWER_COLUMNS] = {1, 2}, words[COUNT] = {0};
    uint8_t bytes[COUNT] = {0};
    sums[CPU_LOWER_COLUMNS] = 3;
    sums[CPU_LOWER_COLUMNS + 1] = 4;
    const CpuBytesResults results = {
        .height = 2,
        .width = 3,
        .columns = 3,
        .filters = 3,
        .quantizes = quantizes,
        .to_planes = to_planes,
        .requantize = cpu_requantize_rows_for(cpu_device(kernel_cpu_device())->level),
        .to = {.is_signed = false, .zero_point = 100},
        .bias = bias,
        .factors = factors,
        .y = quantizes ? (void *)bytes : (void *)words,
    };
    cpu_bytes_finish(&results, &block, sums);
    int found = 0;
    for (int i = 0; i < COUNT; i++) found += (quantizes ? bytes[i] : words[i]) != 0;
    assert_int_equal(found, 4);
    for (int i = 0; i < 4; i++) {
        static const uint8_t wanted[] = {111, 111, 113, 112};
        assert_int_equal(
            quantizes ? bytes[places[i]] : words[places[i]], quantizes ? wanted[i] : i + 1);
    }
}

static void test_results_have_their_place(void **state) {
    (void)state;
    static const int32_t last[] = {13, 14, 16, 17}, planes[] = {10, 16, 11, 17};
    for (int quantizes = 0; quantizes < 2; quantizes++) {
        check(quantizes, false, last);
        check(quantizes, true, planes);
    }
}

int test_cpu_bytes_results(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_have_their_place),
    };
    return cmocka_run_group_tests_name("cpu_bytes_results", tests, NULL, NULL);
}
