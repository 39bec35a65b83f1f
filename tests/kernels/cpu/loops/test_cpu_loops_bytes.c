#include <math.h>

#include "tests/kernels/fixtures/loop_fixture.h"

enum { COUNT = 1030 };

/* Halves around the rounded numbers, numbers beyond the range, infinities and NaN. */
static float number(int i) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30F, -1e30F, -0.0F};
    if (i % 97 == 0) return odd[i / 97 % 6];
    return (float)(i - COUNT / 2) * 0.25F;
}

static int code_of(float x, const CpuParameters *parameters, bool divides, DType bytes) {
    const float scale = (float)parameters->alpha;
    const float scaled = divides ? x / scale : x * scale;
    const double low = bytes == DTYPE_INT8 ? INT8_MIN : 0;
    if (scaled != scaled) return (int)parameters->beta;
    return (int)fmin(fmax(nearbyint((double)scaled) + parameters->beta, low), low + UINT8_MAX);
}

static int read_code(DType bytes, uint8_t code) {
    return bytes == DTYPE_INT8 ? (int8_t)code : code;
}

static void test_numbers_are_scaled_rounded_shifted_and_saturated(void **state) {
    static float from[COUNT];
    static uint8_t to[COUNT];
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    (void)state;
    for (int i = 0; i < COUNT; i++) from[i] = number(i);
    for (uint32_t l = 0; l < level_count; l++)
        for (int way = 0; way < 4; way++) {
            const bool divides = way & 1;
            const DType bytes = way & 2 ? DTYPE_UINT8 : DTYPE_INT8;
            const CpuParameters parameters = {0.5, way & 2 ? 117 : -3};
            cpu_loop_find_bytes(levels[l], divides ? CPU_BYTES_QUANTIZE : CPU_BYTES_QUANTIZE_BY,
                bytes)(to, &(CpuOperand){from, 1}, COUNT, &parameters);
            for (int i = 0; i < COUNT; i++)
                assert_int_equal(
                    read_code(bytes, to[i]), code_of(from[i], &parameters, divides, bytes));
        }
}

static void test_codes_are_shifted_and_scaled(void **state) {
    static uint8_t from[256];
    static float to[256];
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    const CpuParameters parameters = {0.1, 7};
    (void)state;
    for (int i = 0; i < 256; i++) from[i] = (uint8_t)i;
    for (uint32_t l = 0; l < level_count; l++)
        for (int way = 0; way < 2; way++) {
            const DType bytes = way ? DTYPE_UINT8 : DTYPE_INT8;
            cpu_loop_find_bytes(levels[l], CPU_BYTES_DEQUANTIZE, bytes)(
                to, &(CpuOperand){from, 1}, 256, &parameters);
            for (int i = 0; i < 256; i++)
                assert_true(to[i] == (float)(read_code(bytes, from[i]) - 7) * 0.1F);
        }
}

static void test_other_types_have_no_loop(void **state) {
    (void)state;
    assert_null(cpu_loop_find_bytes(CPU_LEVEL_PORTABLE, CPU_BYTES_QUANTIZE, DTYPE_INT16));
}

int test_cpu_loops_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_scaled_rounded_shifted_and_saturated),
        cmocka_unit_test(test_codes_are_shifted_and_scaled),
        cmocka_unit_test(test_other_types_have_no_loop),
    };
    return cmocka_run_group_tests_name("cpu_loops_bytes", tests, NULL, NULL);
}
