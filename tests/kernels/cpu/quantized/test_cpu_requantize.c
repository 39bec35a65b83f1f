#include "kernels/cpu/quantized/cpu_requantize.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/scalar/scalar_float.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/support/test_random.h"

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

/* Two rows of each number of columns, beside the portable code. */
static void test_rows_are_the_same_at_every_level(void **state) {
    enum { COLUMNS = 64, STEP = 70, END = 3 };
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    int32_t sums[2 * STEP], bias[COLUMNS];
    float factors[COLUMNS];
    uint64_t random = 1;
    for (int i = 0; i < 2 * STEP; i++)
        sums[i] = (int32_t)test_random(&random) >> (test_random(&random) % 32);
    for (int i = 0; i < COLUMNS; i++) {
        bias[i] = (int32_t)(test_random(&random) % 512) - 256;
        factors[i] = i % 9 == 0 ? FLT_MAX : i % 9 == 1 ? -1e6f : 0.25f * (float)(i % 5 - 2);
    }
    for (int64_t count = 1; count <= COLUMNS; count++)
        for (int level = 1; level <= (int)device->level; level++) {
            uint8_t wanted[2 * STEP + END] = {0}, out[2 * STEP + END] = {0};
            CpuRequantizeRows rows = {{count % 2 == 1, (int32_t)(count % 100) - 50}, 2, count, sums,
                STEP, bias, factors, wanted, STEP + 1};
            if (!rows.to.is_signed) rows.to.zero_point += 128;
            cpu_requantize_rows_for(CPU_LEVEL_PORTABLE)(&rows);
            rows.out = out;
            cpu_requantize_rows_for((CpuLevel)level)(&rows);
            assert_memory_equal(out, wanted, sizeof out);
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

static void test_wide_sums_round_to_even_and_saturate(void **state) {
    (void)state;
    static const int32_t sums[] = {1, 3, -3, 100000, -100000, INT32_MAX};
    static const int32_t more[] = {5, 7, 1, 100004, -99996, INT32_MIN + 3};
    static const float factors[] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    for (int level = 0; level <= (int)cpu_device(kernel_cpu_device())->level; level++) {
        CpuRequantizeWide *requantize = cpu_requantize_wide_for((CpuLevel)level);
        uint8_t out[6];
        requantize(&(CpuRequantizeTo){true, 1}, sums, factors, 6, out);
        assert_memory_equal(out, ((int8_t[]){1, 3, -1, 127, -128, 127}), 6);
        requantize(&(CpuRequantizeTo){false, 10}, more, factors, 6, out);
        assert_memory_equal(out, ((uint8_t[]){12, 14, 10, 255, 0, 0}), 6);
    }
}

/* The definition, one sum at a time. */
static uint8_t requantize_one(const CpuRequantizeTo *to, int32_t sum, float factor) {
    const double low = to->is_signed ? -128 : 0, high = low + 255;
    double x = (double)sum * (double)factor;
    x = (x == x ? scalar_round_f64(x) : 0) + (double)to->zero_point;
    x = x < low ? low : x;
    return (uint8_t)(int32_t)(x > high ? high : x);
}

/* A whole vector and a rest; sums and factors of all sizes, infinity and NaN among them. */
static void test_wide_rows_have_the_same_bytes_at_every_level(void **state) {
    enum { COUNT = 45 };
    static const float some[] = {0.5F, 1e-9F, 1e9F, -0.25F, 0, INFINITY, NAN, 0.007F, 1.5F};
    int32_t sums[COUNT];
    float factors[COUNT];
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        sums[i] = (int32_t)test_random(&seed) >> test_random(&seed) % 31;
        factors[i] = some[i % 9];
    }
    sums[5] = 0, sums[14] = INT32_MAX, sums[23] = INT32_MIN, sums[3] = 2, sums[12] = 6;
    for (int is_signed = 0; is_signed < 2; is_signed++)
        for (int level = 0; level <= (int)cpu_device(kernel_cpu_device())->level; level++) {
            const CpuRequantizeTo to = {is_signed, is_signed ? -7 : 130};
            uint8_t wanted[COUNT], out[COUNT];
            for (int i = 0; i < COUNT; i++) wanted[i] = requantize_one(&to, sums[i], factors[i]);
            cpu_requantize_wide_for((CpuLevel)level)(&to, sums, factors, COUNT, out);
            assert_memory_equal(out, wanted, COUNT);
        }
}

/* Whole vectors, and rests of every length. */
static void test_rows_of_sums_have_the_same_bytes_at_every_level(void **state) {
    enum { COUNT = 43 };
    int32_t sums[COUNT], bias[COUNT];
    float factors[COUNT];
    uint8_t wanted[COUNT], made[COUNT + 1];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        sums[i] = (i * 7919 % 2001 - 1000) * (i % 9 == 0 ? 2000000 : 1);
        bias[i] = 13 * i - 250;
        factors[i] = i % 10 == 0 ? FLT_MAX : (float)(i % 5 + 1) / 16;
    }
    for (int64_t count = 0; count <= COUNT; count++) {
        const CpuRequantizeTo to = {count % 2 != 0, count % 2 != 0 ? -7 : 100};
        cpu_requantize_for(CPU_LEVEL_PORTABLE)(&to, sums, bias, factors, count, wanted);
        for (int level = 1; level <= (int)cpu_device(kernel_cpu_device())->level; level++) {
            made[count] = 77;
            cpu_requantize_for((CpuLevel)level)(&to, sums, bias, factors, count, made);
            assert_memory_equal(made, wanted, (size_t)count);
            assert_int_equal(made[count], 77);
        }
    }
}

int test_cpu_requantize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_round_to_even_and_saturate),
        cmocka_unit_test(test_rows_are_the_same_at_every_level),
        cmocka_unit_test(test_factors_are_finite),
        cmocka_unit_test(test_wide_sums_round_to_even_and_saturate),
        cmocka_unit_test(test_rows_of_sums_have_the_same_bytes_at_every_level),
        cmocka_unit_test(test_wide_rows_have_the_same_bytes_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_requantize", tests, NULL, NULL);
}
