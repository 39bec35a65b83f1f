#include "kernels/cpu/elementwise/cpu_small.h"

#include <math.h>

#include "kernels/tensor/dtype_bits.h"
#include "tests/support/test_support.h"

enum { COUNT = 1000 };

/* Whatever the type holds comes back, from any element on. */
static void test_small_elements_are_widened_and_narrowed(void **state) {
    const DTypeSet set = DTYPES_PACKED | DTYPES_FLOAT8 | DTYPES_FLOAT32_AND_HALF |
                         DTYPE_BIT(DTYPE_FLOAT8E8M0) | DTYPE_BIT(DTYPE_INT8) |
                         DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_UINT16);
    (void)state;
    for (uint32_t d = 1; d < DTYPE_COUNT; d++) {
        uint8_t data[COUNT * 4] = {0}, back[COUNT * 4] = {0};
        float values[COUNT];
        CpuWiden widen;
        double value;
        if (!(set >> d & 1)) continue;
        for (uint64_t i = 0; i < COUNT; i++)
            assert_true(dtype_bits_write_element((DType)d, data, i, (double)(i % 7) - 3));
        cpu_widen_init((DType)d, &widen);
        cpu_widen_run(&widen, data, 3, COUNT - 3, values);
        for (uint64_t i = 3; i < COUNT; i++) {
            assert_true(dtype_bits_read_element((DType)d, data, i, &value));
            assert_true((double)values[i - 3] == value);
        }
        assert_true(cpu_widen_one(&widen, data, 3) == values[0]);
        cpu_widen_run(&widen, data, 0, COUNT, values);
        cpu_small_narrow((DType)d, true, values, back, 0, COUNT);
        assert_memory_equal(back, data, sizeof back);
    }
}

static void test_small_integers_saturate_and_nan_is_zero(void **state) {
    static const float values[] = {(float)NAN, 1e30f, -1e30f, 2.5f, 3.5f, -2.5f};
    int16_t words[6];
    uint8_t packed[3];
    (void)state;
    cpu_small_narrow(DTYPE_INT16, true, values, words, 0, 6);
    assert_memory_equal(words, ((int16_t[]){0, 32767, -32768, 2, 4, -2}), sizeof words);
    cpu_small_narrow(DTYPE_UINT4, true, values, packed, 0, 6);
    assert_memory_equal(packed, ((uint8_t[]){0xf0, 0x20, 0x04}), 3);
}

static void test_small_floats_saturate_when_asked(void **state) {
    const float value = 1e30f;
    uint8_t byte;
    (void)state;
    cpu_small_narrow(DTYPE_FLOAT8E5M2, true, &value, &byte, 0, 1);
    assert_int_equal(byte, 0x7b);
    cpu_small_narrow(DTYPE_FLOAT8E5M2, false, &value, &byte, 0, 1);
    assert_int_equal(byte, 0x7c);
}

static void test_small_rounding_is_to_the_types_precision(void **state) {
    float values[] = {1 + 0x1p-9f, 1 + 0x1p-20f};
    (void)state;
    cpu_small_round(DTYPE_FLOAT32, values, 2);
    assert_true(values[1] == 1 + 0x1p-20f);
    cpu_small_round(DTYPE_FLOAT16, values, 2);
    assert_true(values[0] == 1 + 0x1p-9f && values[1] == 1);
    cpu_small_round(DTYPE_BFLOAT16, values, 2);
    assert_true(values[0] == 1);
}

int test_cpu_small(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_elements_are_widened_and_narrowed),
        cmocka_unit_test(test_small_integers_saturate_and_nan_is_zero),
        cmocka_unit_test(test_small_floats_saturate_when_asked),
        cmocka_unit_test(test_small_rounding_is_to_the_types_precision),
    };
    return cmocka_run_group_tests_name("cpu_small", tests, NULL, NULL);
}
