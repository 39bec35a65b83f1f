#include "kernels/tensor/dtype_scalar.h"

#include <math.h>

#include "tests/support/test_support.h"

static void test_dtype_scalar_every_float16_comes_back(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        double half = dtype_scalar_from_float16((uint16_t)bits);
        double brain = dtype_scalar_from_bfloat16((uint16_t)bits);
        if (!isnan(half)) assert_int_equal(dtype_scalar_float16(half), bits);
        if (!isnan(brain)) assert_int_equal(dtype_scalar_bfloat16(brain), bits);
        if (isnan(half)) assert_true(isnan(dtype_scalar_from_float16(dtype_scalar_float16(half))));
    }
}

static void test_dtype_scalar_rounds_to_nearest_even(void **state) {
    (void)state;
    assert_int_equal(dtype_scalar_float16(1 + 0x1p-11), 0x3c00);
    assert_int_equal(dtype_scalar_float16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(dtype_scalar_float16(1 + 0x3p-11), 0x3c02);
    assert_int_equal(dtype_scalar_float16(65519.99), 0x7bff);
    assert_int_equal(dtype_scalar_float16(65520), 0x7c00);
    assert_int_equal(dtype_scalar_float16(-1e300), 0xfc00);
    assert_int_equal(dtype_scalar_float16(0x1p-25), 0);
    assert_int_equal(dtype_scalar_float16(0x1.8p-25), 1);
    assert_int_equal(dtype_scalar_float16(0x1.ffcp-15), 0x400);
    assert_int_equal(dtype_scalar_bfloat16(0x1.ffp127), 0x7f80);
    assert_int_equal(dtype_scalar_bfloat16(-0.0), 0x8000);
}

static void test_dtype_scalar_integers_saturate(void **state) {
    (void)state;
    static const DType dtypes[] = {DTYPE_INT8, DTYPE_UINT8, DTYPE_INT16, DTYPE_UINT16, DTYPE_INT32,
        DTYPE_UINT32, DTYPE_INT64, DTYPE_UINT64};
    static const double lows[] = {-128, 0, -32768, 0, -0x1p31, 0, -0x1p63, 0};
    static const double highs[] = {127, 255, 32767, 65535, 0x1p31 - 1, 0x1p32 - 1, 0x1p63, 0x1p64};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        uint64_t memory = 0;
        double back;
        assert_true(dtype_scalar_write(dtypes[i], -1e30, &memory));
        assert_true(dtype_scalar_read(dtypes[i], &memory, &back));
        assert_true(back == lows[i]);
        assert_true(dtype_scalar_write(dtypes[i], 1e30, &memory));
        assert_true(dtype_scalar_read(dtypes[i], &memory, &back));
        assert_true(back == highs[i]);
        assert_true(dtype_scalar_write(dtypes[i], (double)NAN, &memory));
        assert_true(dtype_scalar_read(dtypes[i], &memory, &back));
        assert_true(back == 0);
    }
}

static void test_dtype_scalar_read_int_is_exact(void **state) {
    (void)state;
    int64_t value, least = INT64_MIN;
    uint64_t most = UINT64_MAX;
    int8_t small = -5;
    float real = 1;
    assert_true(dtype_scalar_read_int(DTYPE_INT64, &least, &value));
    assert_true(value == INT64_MIN);
    assert_true(dtype_scalar_read_int(DTYPE_UINT64, &most, &value));
    assert_true(value == INT64_MAX);
    assert_true(dtype_scalar_read_int(DTYPE_INT8, &small, &value));
    assert_int_equal(value, -5);
    assert_false(dtype_scalar_read_int(DTYPE_FLOAT32, &real, &value));
    assert_false(dtype_scalar_read_int(DTYPE_INT4, &small, &value));
}

static void test_dtype_scalar_refuses_what_has_no_number(void **state) {
    (void)state;
    uint64_t memory = 0;
    double back;
    static const DType dtypes[] = {
        DTYPE_NONE, DTYPE_STRING, DTYPE_INT4, DTYPE_UINT2, DTYPE_FLOAT4E2M1};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        assert_false(dtype_scalar_write(dtypes[i], 1, &memory));
        assert_false(dtype_scalar_read(dtypes[i], &memory, &back));
    }
}

static void test_dtype_scalar_holds_what_takes_one_rounding(void **state) {
    (void)state;
    assert_true(dtype_scalar_holds(DTYPE_FLOAT16, 0));
    assert_true(dtype_scalar_holds(DTYPE_FLOAT16, -65519));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT16, -65520));
    assert_true(dtype_scalar_holds(DTYPE_FLOAT16, 0x1p-14));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT16, 0x1p-15));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT16, 0x1p-30));
    assert_true(dtype_scalar_holds(DTYPE_BFLOAT16, 0x1p-126));
    assert_false(dtype_scalar_holds(DTYPE_BFLOAT16, 0x1p-127));
    assert_true(dtype_scalar_holds(DTYPE_FLOAT32, 1e-30));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT32, 1e39));
    assert_true(dtype_scalar_holds(DTYPE_FLOAT64, 1e-300));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT64, (double)NAN));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT64, -(double)INFINITY));
    assert_false(dtype_scalar_holds(DTYPE_INT32, 1));
    assert_false(dtype_scalar_holds(DTYPE_FLOAT8E5M2, 1));
}

/* Every code of the types of a byte and less is the number it is read as. */
static void test_dtype_scalar_every_code_comes_back(void **state) {
    (void)state;
    for (uint32_t i = 1; i < DTYPE_COUNT; i++) {
        const DType dtype = (DType)i;
        const uint32_t bits = dtype_bits(dtype);
        if (bits == 0 || bits > 8 || dtype == DTYPE_BOOL) continue;
        for (uint32_t code = 0; code < 1u << bits; code++) {
            const double value = dtype_scalar_from_code(dtype, (uint8_t)code);
            uint8_t byte = (uint8_t)code;
            double read;
            if (!isfinite(value)) continue;
            assert_int_equal(dtype_scalar_to_code(dtype, value), code);
            if (bits < 8) continue;
            assert_true(dtype_scalar_read(dtype, &byte, &read));
            assert_true(read == value);
            assert_true(dtype_scalar_write(dtype, value, &byte));
            assert_int_equal(byte, code);
        }
    }
}

static void test_dtype_scalar_small_types_saturate(void **state) {
    static const struct {
        DType dtype;
        double low, high, of_nan;
    } rows[] = {
        {DTYPE_INT4, -8, 7, 0},
        {DTYPE_UINT4, 0, 15, 0},
        {DTYPE_INT2, -2, 1, 0},
        {DTYPE_UINT2, 0, 3, 0},
        {DTYPE_FLOAT4E2M1, -6, 6, 0},
        {DTYPE_FLOAT6E2M3, -7.5, 7.5, 0},
        {DTYPE_FLOAT6E3M2, -28, 28, 0},
        {DTYPE_FLOAT8E4M3FN, -448, 448, (double)NAN},
        {DTYPE_FLOAT8E8M0, 0x1p127, 0x1p127, (double)NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const DType dtype = rows[i].dtype;
        const uint8_t nan_code = dtype_scalar_to_code(dtype, (double)NAN);
        const double of_nan = dtype_scalar_from_code(dtype, nan_code);
        assert_true(
            dtype_scalar_from_code(dtype, dtype_scalar_to_code(dtype, -1e300)) == rows[i].low);
        assert_true(
            dtype_scalar_from_code(dtype, dtype_scalar_to_code(dtype, 1e300)) == rows[i].high);
        assert_true(of_nan == rows[i].of_nan || (isnan(of_nan) && isnan(rows[i].of_nan)));
    }
}

int test_dtype_scalar(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_scalar_every_float16_comes_back),
        cmocka_unit_test(test_dtype_scalar_rounds_to_nearest_even),
        cmocka_unit_test(test_dtype_scalar_integers_saturate),
        cmocka_unit_test(test_dtype_scalar_read_int_is_exact),
        cmocka_unit_test(test_dtype_scalar_refuses_what_has_no_number),
        cmocka_unit_test(test_dtype_scalar_every_code_comes_back),
        cmocka_unit_test(test_dtype_scalar_small_types_saturate),
        cmocka_unit_test(test_dtype_scalar_holds_what_takes_one_rounding),
    };
    return cmocka_run_group_tests_name("dtype_scalar", tests, NULL, NULL);
}
