#include "kernels/cpu/quantized/cpu_requantize.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void test_sums_round_to_even_and_saturate(void **state) {
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    static const int32_t sums[18] = {1, 3, -1, -3, 1000, -1000, INT32_MAX, 4};
    static const int32_t bias[18] = {0, 0, 0, 0, 0, 0, 1, -1};
    static const uint8_t wanted[8] = {1, 3, 1, (uint8_t)-1, 127, 0x80, 0x80, 3};
    float factors[18];
    for (int i = 0; i < 18; i++) factors[i] = 0.5f;
    for (int level = 0; level <= (int)device->level; level++) {
        uint8_t out[18];
        cpu_requantize_for((CpuLevel)level)(
            &(CpuRequantizeTo){true, 1}, sums, bias, factors, 18, out);
        assert_memory_equal(out, wanted, sizeof wanted);
        assert_int_equal(out[17], 1);
        cpu_requantize_for((CpuLevel)level)(
            &(CpuRequantizeTo){false, 200}, sums, bias, factors, 6, out);
        assert_memory_equal(out, ((uint8_t[]){200, 202, 200, 198, 255, 0}), 6);
    }
}

/* 0 times infinity is NaN, which becomes the zero point as 0 does; other sums saturate. */
static void test_factors_are_finite(void **state) {
    (void)state;
    assert_true(cpu_requantize_factor(0.5f, 3, 2) == 0.75f);
    assert_true(cpu_requantize_factor(INFINITY, 3, 2) == FLT_MAX);
    assert_true(cpu_requantize_factor(-3, 3, 0) == -FLT_MAX);
    assert_true(cpu_requantize_factor(NAN, 3, 2) == 0);
    assert_true(cpu_requantize_factor(0, 3, 0) == 0);
}

int test_cpu_requantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_round_to_even_and_saturate),
        cmocka_unit_test(test_factors_are_finite),
    };
    return cmocka_run_group_tests_name("cpu_requantize", tests, NULL, NULL);
}
