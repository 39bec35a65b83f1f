#include <float.h>
#include <math.h>

#include "kernels/scalar/scalar_convert.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_float8.h"
#include "kernels/scalar/scalar_small_float.h"
#include "kernels/scalar/scalar_integer.h"
#include "kernels/scalar/scalar_inverse.h"
#include "tests/support/test_support.h"

/* float32 bit patterns taken: every STRIDE-th of all. */
enum { STRIDE = 10007, DOUBLES = 40000 };

/* The distance of got from want in units of want's last place. */
static double ulps_f32(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0 : HUGE_VAL;
    if (isinf(got) || isinf((float)want)) return (float)want == got ? 0 : HUGE_VAL;
    float magnitude = fabsf((float)want);
    double unit = magnitude < FLT_MIN ? 0x1p-149 : ldexp(1, ilogbf(magnitude) - 23);
    return fabs((double)got - want) / unit;
}

static double ulps_f64(double got, long double want) {
    if (isnan(want)) return isnan(got) ? 0 : HUGE_VAL;
    if (isinf(got) || isinf((double)want)) return (double)want == got ? 0 : HUGE_VAL;
    double magnitude = fabs((double)want);
    double unit = magnitude < DBL_MIN ? 0x1p-1074 : ldexp(1, ilogb(magnitude) - 52);
    return (double)(fabsl((long double)got - want) / (long double)unit);
}

/* The exponent of e^88.376 is rounded up, to that of infinity. */
static double sigmoid_reference(double x) { return x < -88.376 ? 0 : 1 / (1 + exp(-x)); }
static double swish_reference(double x) { return x < -88.376 ? x * 0 : x / (1 + exp(-x)); }
static float swish(float x) { return scalar_swish_f32(x, 1); }
static double softplus_reference(double x) { return x > 30 ? x : log1p(exp(x)); }

static double softsign_reference(double x) { return x / (1 + fabs(x)); }
/* Of a large negative x the other factor is subnormal: its rounding is multiplied by x. */
static double mish_reference(double x) { return x * tanh(softplus_reference(x)); }

typedef struct FunctionF32 {
    const char *name;
    float (*function)(float x);
    double (*reference)(double x);
    double ulps_max;
} FunctionF32;

static void test_float32_functions_stay_within_their_stated_error(void **state) {
    static const FunctionF32 functions[] = {
        {"exp", scalar_exp_f32, exp, 1.0},
        {"expm1", scalar_expm1_f32, expm1, 1.5},
        {"log", scalar_log_f32, log, 1.0},
        {"log1p", scalar_log1p_f32, log1p, 2.0},
        {"tanh", scalar_tanh_f32, tanh, 4.75},
        {"sigmoid", scalar_sigmoid_f32, sigmoid_reference, 2.5},
        {"swish", swish, swish_reference, 2.5},
        {"erf", scalar_erf_f32, erf, 1.75},
        {"sin", scalar_sin_f32, sin, 1.75},
        {"cos", scalar_cos_f32, cos, 1.75},
        {"tan", scalar_tan_f32, tan, 0.6},
        {"asin", scalar_asin_f32, asin, 2.5},
        {"acos", scalar_acos_f32, acos, 1.5},
        {"atan", scalar_atan_f32, atan, 1.9},
        {"sinh", scalar_sinh_f32, sinh, 0.6},
        {"cosh", scalar_cosh_f32, cosh, 0.6},
        {"asinh", scalar_asinh_f32, asinh, 0.6},
        {"acosh", scalar_acosh_f32, acosh, 0.6},
        {"atanh", scalar_atanh_f32, atanh, 0.6},
        {"softsign", scalar_softsign_f32, softsign_reference, 1.5},
        {"mish", scalar_mish_f32, mish_reference, 64},
        {"softplus", scalar_softplus_f32, softplus_reference, 2.5},
        {"floor", scalar_floor_f32, floor, 0},
        {"ceil", scalar_ceil_f32, ceil, 0},
        {"round", scalar_round_f32, rint, 0},
        {"sqrt", scalar_sqrt_f32, sqrt, 0.51},
    };
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += STRIDE) {
            float x = scalar_make_f32((uint32_t)bits);
            double error = ulps_f32(functions[i].function(x), functions[i].reference((double)x));
            if (error > functions[i].ulps_max)
                fail_msg("%s(%a) is off by %g units", functions[i].name, (double)x, error);
        }
}

/* A rational function may pass its asymptote, and a clamp of integers knows no NaN. */
static void test_bounded_functions_keep_their_bounds(void **state) {
    (void)state;
    for (float x = 5; x < 12; x += 0x1p-12f) {
        assert_true(scalar_tanh_f32(x) <= 1 && scalar_tanh_f32(-x) >= -1);
        assert_true(scalar_sigmoid_f32(x) <= 1 && scalar_sigmoid_f32(-x) >= 0);
    }
    const uint32_t nans[] = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
        const float x = scalar_make_f32(nans[i]);
        const float results[] = {scalar_exp_f32(x), scalar_tanh_f32(x), scalar_sigmoid_f32(x),
            scalar_atan_f32(x), scalar_asin_f32(x), scalar_acos_f32(x), scalar_sin_fast_f32(x),
            scalar_cos_fast_f32(x)};
        for (size_t k = 0; k < sizeof results / sizeof results[0]; k++)
            assert_int_equal(scalar_bits_f32(results[k]), 0x7FC00000);
    }
    const float infinity = scalar_infinity_f32();
    assert_true(scalar_tanh_f32(infinity) == 1 && scalar_tanh_f32(-infinity) == -1);
    assert_true(scalar_sigmoid_f32(infinity) == 1 && scalar_sigmoid_f32(-infinity) == 0);
    assert_true(scalar_exp_f32(infinity) == infinity && scalar_exp_f32(-infinity) == 0);
}

typedef struct FunctionF64 {
    const char *name;
    double (*function)(double x);
    long double (*reference)(long double x);
    double low, high, ulps_max;
} FunctionF64;

static long double sigmoid_long(long double x) { return 1 / (1 + expl(-x)); }

static void test_float64_functions_stay_within_their_stated_error(void **state) {
    static const FunctionF64 functions[] = {
        {"exp", scalar_exp_f64, expl, -750, 720, 1.1},
        {"expm1", scalar_expm1_f64, expm1l, -50, 720, 2},
        {"log", scalar_log_f64, logl, 0, 1e300, 1},
        {"log", scalar_log_f64, logl, 0.5, 2, 1},
        {"log1p", scalar_log1p_f64, log1pl, -1, 5, 2},
        {"tanh", scalar_tanh_f64, tanhl, -25, 25, 3},
        {"sigmoid", scalar_sigmoid_f64, sigmoid_long, -740, 740, 3},
        {"erf", scalar_erf_f64, erfl, -6, 6, 1.5},
        {"sin", scalar_sin_f64, sinl, -1e6, 1e6, 2},
        {"cos", scalar_cos_f64, cosl, -1e6, 1e6, 2},
        {"sin", scalar_sin_f64, sinl, -1e18, 1e18, 1},
        {"tan", scalar_tan_f64, tanl, -1e6, 1e6, 3},
        {"tan", scalar_tan_f64, tanl, -1e18, 1e18, 3},
        {"asin", scalar_asin_f64, asinl, -1, 1, 2.5},
        {"acos", scalar_acos_f64, acosl, -1, 1, 2},
        {"atan", scalar_atan_f64, atanl, -5, 5, 2},
        {"atan", scalar_atan_f64, atanl, -1e9, 1e9, 1},
        {"sinh", scalar_sinh_f64, sinhl, -3, 3, 3},
        {"sinh", scalar_sinh_f64, sinhl, -712, 712, 3},
        {"cosh", scalar_cosh_f64, coshl, -712, 712, 3},
        {"asinh", scalar_asinh_f64, asinhl, -10, 10, 4},
        {"asinh", scalar_asinh_f64, asinhl, -1e12, 1e12, 2},
        {"acosh", scalar_acosh_f64, acoshl, 1, 3, 4},
        {"acosh", scalar_acosh_f64, acoshl, 1, 1e12, 2},
        {"atanh", scalar_atanh_f64, atanhl, -1, 1, 4},
    };
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        for (int k = 0; k < DOUBLES; k++) {
            double unit = (double)(test_random(&random) >> 11) * 0x1p-53;
            double x = functions[i].low + unit * (functions[i].high - functions[i].low);
            double error =
                ulps_f64(functions[i].function(x), functions[i].reference((long double)x));
            if (error > functions[i].ulps_max)
                fail_msg("%s(%a) is off by %g units", functions[i].name, x, error);
        }
}

static void test_pow_follows_the_standard_in_special_cases(void **state) {
    static const double values[] = {0.0, -0.0, 1, -1, (double)INFINITY, (double)-INFINITY,
        (double)NAN, 0.5, -0.5, 2, -2, 3, -3, 0x1p24, -0x1p24, 16777215, -16777217};
    enum { COUNT = sizeof values / sizeof values[0] };
    (void)state;
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            double want = pow(values[i], values[j]);
            assert_true(ulps_f64(scalar_pow_f64(values[i], values[j]), (long double)want) <= 1);
            float narrow = (float)values[i], exponent = (float)values[j];
            double want_f32 = pow((double)narrow, (double)exponent);
            float got = scalar_pow_f32(narrow, exponent);
            assert_true(ulps_f32(got, want_f32) <= 0.51);
            if (!isnan(want)) assert_int_equal(signbit(got) != 0, signbit(want_f32) != 0);
        }
    /* parity of exponents around 2^51 … 2^53 */
    static const double edges[] = {4503599627370497, 4503599627370496, 9007199254740991,
        9007199254740992, 2251799813685249.5, 2251799813685249, 2251799813685247};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        double want = pow(-1, edges[i]), got = scalar_pow_f64(-1, edges[i]);
        assert_true(isnan(want) ? isnan(got) : got == want);
    }
}

static void test_pow_stays_within_its_stated_error(void **state) {
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < DOUBLES; i++) {
        double unit = (double)(test_random(&random) >> 11) * 0x1p-53;
        float x = scalar_make_f32((uint32_t)test_random(&random));
        float y = (float)(16 * unit - 8);
        assert_true(ulps_f32(scalar_pow_f32(x, y), pow((double)x, (double)y)) <= 0.51);
        double base = 3 * unit, exponent = (double)y * 100;
        assert_true(ulps_f64(scalar_pow_f64(base, exponent),
                        powl((long double)base, (long double)exponent)) <= 20);
    }
}

static void test_integers_never_trap_and_wrap(void **state) {
    (void)state;
    assert_int_equal(scalar_div_int32(7, 0), 0);
    assert_int_equal(scalar_div_int32(INT32_MIN, -1), INT32_MIN);
    assert_true(scalar_div_int64(INT64_MIN, -1) == INT64_MIN);
    assert_int_equal(scalar_div_int8(INT8_MIN, -1), INT8_MIN);
    assert_int_equal(scalar_fmod_int32(INT32_MIN, -1), 0);
    assert_int_equal(scalar_mod_int64(5, 0), 0);
    assert_int_equal(scalar_mod_int32(-7, 3), 2);
    assert_int_equal(scalar_mod_int32(7, -3), -2);
    assert_int_equal(scalar_fmod_int32(-7, 3), -1);
    assert_int_equal(scalar_div_uint8(200, 3), 66);
    assert_int_equal(scalar_add_int8(127, 1), -128);
    assert_true(scalar_mul_int64(INT64_MAX, 2) == -2);
    assert_int_equal(scalar_mul_uint16(65535, 65535), 1);
    assert_true(scalar_neg_int64(INT64_MIN) == INT64_MIN);
    assert_true(scalar_abs_int64(INT64_MIN) == INT64_MIN);
    assert_int_equal(scalar_pow_int32(3, 4), 81);
    assert_int_equal(scalar_pow_int32(-1, -3), -1);
    assert_int_equal(scalar_pow_int32(2, -1), 0);
    assert_int_equal(scalar_pow_int32(0, -1), 0);
    assert_int_equal(scalar_pow_uint8(2, 9), 0);
    assert_int_equal(scalar_shift_left_int8(1, 7), -128);
    assert_int_equal(scalar_shift_left_int8(1, 8), 0);
    assert_int_equal(scalar_shift_left_int32(-1, -1), 0);
    assert_int_equal(scalar_shift_right_int32(-8, 1), -4);
    assert_int_equal(scalar_shift_right_int32(-8, 32), -1);
    assert_int_equal(scalar_shift_right_int64(8, -1), 0);
    assert_int_equal(scalar_shift_right_uint16(65535, 15), 1);
    assert_int_equal(scalar_shift_right_uint64(1, UINT64_MAX), 0);
    assert_int_equal(scalar_shrink_int8(INT8_MIN, -1, 3), 127);
    assert_int_equal(scalar_shrink_uint8(3, 1, 3), 0);
    assert_int_equal(scalar_shrink_int8(2, 0.5, 1.5), 1); /* 1.5 */
    assert_int_equal(scalar_shrink_int8(-2, 0.5, 1.5), -1);
    assert_int_equal(scalar_shrink_int8(2, 2.5, 1.5), 0); /* -0.5 */
    assert_int_equal(scalar_shrink_int8(2, 3.5, 1.5), -1);
    assert_int_equal(scalar_shrink_int8(127, -100.5, 1.5), -29); /* 227 */
    assert_int_equal(scalar_shrink_uint8(2, 6.5, 1.5), 252);     /* -4 */
    assert_int_equal(scalar_shrink_uint8(1, 0.5, -1.5), 1);      /* below 1.5, so 1 + 0.5 */
    /* beyond the integers that float64 has */
    assert_true(scalar_shrink_int64(INT64_MAX, 0.5, 0) == INT64_MAX - 1);
    assert_true(scalar_shrink_uint64(UINT64_MAX, 0, 0.5) == UINT64_MAX);
    assert_true(scalar_shrink_int64(5, (double)INFINITY, 0.5) == 5 - INT64_MAX - 1);
    assert_true(scalar_shrink_int64(5, (double)NAN, 0.5) == 5);
}

static void test_conversions_to_integers_saturate_and_take_nan_for_zero(void **state) {
    (void)state;
    assert_int_equal(scalar_f32_to_int32(NAN), 0);
    assert_int_equal(scalar_f32_to_int32(INFINITY), INT32_MAX);
    assert_int_equal(scalar_f32_to_int32(-INFINITY), INT32_MIN);
    assert_int_equal(scalar_f32_to_int32(-2147483648.0f), INT32_MIN);
    assert_int_equal(scalar_f32_to_int32(2147483520.0f), 2147483520);
    assert_true(scalar_f64_to_int64(1e19) == INT64_MAX);
    assert_true(scalar_f64_to_uint64(1e20) == UINT64_MAX);
    assert_true(scalar_f64_to_uint64(-1) == 0);
    assert_int_equal(scalar_f32_to_uint8(-0.5f), 0);
    assert_int_equal(scalar_f32_to_uint8(255.9f), 255);
    assert_int_equal(scalar_f32_to_int8(-128.9f), -128);
    assert_int_equal(scalar_f64_to_int16(-40000), INT16_MIN);
}

static void test_half_floats_survive_a_round_trip_and_round_to_even(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        float wide = scalar_widen_float16((uint16_t)h);
        if (!isnan(wide)) assert_int_equal(scalar_narrow_float16(wide), h);
        wide = scalar_widen_bfloat16((uint16_t)h);
        if (!isnan(wide)) assert_int_equal(scalar_narrow_bfloat16(wide), h);
    }
    assert_int_equal(scalar_narrow_float16(NAN), 0x7E00);
    assert_int_equal(scalar_narrow_bfloat16(-NAN), 0x7FC0);
    assert_int_equal(scalar_narrow_float16(65519.996f), 0x7BFF);
    assert_int_equal(scalar_narrow_float16(65520.0f), 0x7C00);
    assert_int_equal(scalar_narrow_float16(0x1p-25f), 0);
    assert_int_equal(scalar_narrow_float16(0x1.000002p-25f), 1);
    assert_int_equal(scalar_narrow_float16(1 + 0x1p-11f), 0x3C00);
    assert_int_equal(scalar_narrow_float16(1 + 0x1.8p-10f), 0x3C02);
    /* just above a tie: two roundings would lose it */
    assert_int_equal(scalar_narrow_float16(scalar_narrow_to_odd(1 + 0x1p-11 + 0x1p-40)), 0x3C01);
}

static void test_wide_integers_round_once_on_their_way_to_short_floats(void **state) {
    (void)state;
    /* 2^62 + 2^54 is a tie of bfloat16's eight bits; one more tips it, which float64 alone loses */
    int64_t tie = ((int64_t)1 << 62) + ((int64_t)1 << 54);
    assert_int_equal(
        scalar_narrow_bfloat16(scalar_narrow_to_odd(scalar_int64_to_sticky(tie))), 0x5E80);
    assert_int_equal(
        scalar_narrow_bfloat16(scalar_narrow_to_odd(scalar_int64_to_sticky(tie + 1))), 0x5E81);
    assert_true(scalar_int64_to_sticky(INT64_MIN) == -0x1p63);
    assert_true(scalar_uint64_to_sticky(12345) == 12345);
}

static void test_small_float_forms_survive_a_round_trip(void **state) {
    static const double most[] = {6, 7.5, 28};
    (void)state;
    for (int f = 0; f < 3; f++) {
        const ScalarSmallFloat form = (ScalarSmallFloat)f;
        const uint32_t sign = scalar_small_sign(form);
        for (uint32_t code = 0; code < 2 * sign; code++)
            assert_int_equal(
                scalar_narrow_small(form, scalar_widen_small(form, (uint8_t)code)), code);
        assert_true(scalar_widen_small(form, (uint8_t)(sign - 1)) == most[f]);
        assert_int_equal(scalar_narrow_small(form, (double)INFINITY), sign - 1);
        assert_int_equal(scalar_narrow_small(form, -1e300), 2 * sign - 1);
        assert_int_equal(scalar_narrow_small(form, (double)NAN), sign);
        assert_int_equal(scalar_narrow_small(form, 0x1p-1070), 0);
    }
    assert_int_equal(scalar_narrow_small(SCALAR_E2M1, 2.5), 4); /* to even */
    assert_int_equal(scalar_narrow_small(SCALAR_E2M1, 2.5000001), 5);
}

static void test_powers_of_two_survive_a_round_trip(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 256; code++)
        for (int mode = 0; mode < 3; mode++)
            assert_int_equal(scalar_narrow_e8m0(scalar_widen_e8m0((uint8_t)code),
                                 (ScalarRoundMode)mode, (int)code % 2),
                code);
    assert_int_equal(scalar_narrow_e8m0(1.5 - 0x1p-40, SCALAR_ROUND_NEAREST, 1), 127);
    assert_int_equal(scalar_narrow_e8m0(1.5, SCALAR_ROUND_NEAREST, 1), 128);
    assert_int_equal(scalar_narrow_e8m0(1 + 0x1p-52, SCALAR_ROUND_UP, 1), 128);
    assert_int_equal(scalar_narrow_e8m0(2 - 0x1p-52, SCALAR_ROUND_DOWN, 1), 127);
    assert_int_equal(scalar_narrow_e8m0(0, SCALAR_ROUND_UP, 1), 0);
    assert_int_equal(scalar_narrow_e8m0(0, SCALAR_ROUND_UP, 0), 255);
}

static void test_float8_forms_survive_a_round_trip(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++)
        for (uint32_t code = 0; code < 256; code++) {
            double x = scalar_widen_float8((ScalarFloat8)form, (uint8_t)code);
            if (isnan(x)) continue;
            bool saturates = isinf(x);
            assert_int_equal(scalar_narrow_float8((ScalarFloat8)form, x, 0),
                saturates ? 0x7C | (code & 0x80) : code);
        }
    assert_true(scalar_widen_float8(SCALAR_E4M3FN, 0x7E) == 448);
    assert_true(scalar_widen_float8(SCALAR_E4M3FNUZ, 0x7F) == 240);
    assert_true(scalar_widen_float8(SCALAR_E5M2, 0x7B) == 57344);
    assert_int_equal(scalar_narrow_float8(SCALAR_E4M3FN, 1000, 1), 0x7E);
    assert_int_equal(scalar_narrow_float8(SCALAR_E4M3FN, 1000, 0), 0x7F);
    assert_int_equal(scalar_narrow_float8(SCALAR_E4M3FN, 464, 0), 0x7E);
    assert_int_equal(scalar_narrow_float8(SCALAR_E5M2, (double)-INFINITY, 1), 0xFB);
    assert_int_equal(scalar_narrow_float8(SCALAR_E4M3FNUZ, -0.0, 1), 0);
}

static void test_max_and_min_let_nan_win_and_rounding_keeps_the_sign_of_zero(void **state) {
    (void)state;
    assert_true(isnan(scalar_max_f32(NAN, 1)) && isnan(scalar_max_f32(1, NAN)));
    assert_true(isnan(scalar_min_f64(1, (double)NAN)));
    assert_true(signbit(scalar_round_f32(-0.3f)) && signbit(scalar_ceil_f32(-0.3f)));
    assert_true(scalar_round_f32(2.5f) == 2 && scalar_round_f64(3.5) == 4);
    assert_true(signbit(scalar_relu_f32(-0.0f)) && isnan(scalar_relu_f32(NAN)));
    assert_int_equal(scalar_bits_f32(scalar_add_f32(NAN, -NAN)), 0x7FC00000);
    assert_int_equal(scalar_bits_f32(scalar_mul_f32(INFINITY, 0)), 0x7FC00000);
}

int test_scalar_functors(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float32_functions_stay_within_their_stated_error),
        cmocka_unit_test(test_bounded_functions_keep_their_bounds),
        cmocka_unit_test(test_float64_functions_stay_within_their_stated_error),
        cmocka_unit_test(test_pow_follows_the_standard_in_special_cases),
        cmocka_unit_test(test_pow_stays_within_its_stated_error),
        cmocka_unit_test(test_integers_never_trap_and_wrap),
        cmocka_unit_test(test_conversions_to_integers_saturate_and_take_nan_for_zero),
        cmocka_unit_test(test_half_floats_survive_a_round_trip_and_round_to_even),
        cmocka_unit_test(test_wide_integers_round_once_on_their_way_to_short_floats),
        cmocka_unit_test(test_float8_forms_survive_a_round_trip),
        cmocka_unit_test(test_small_float_forms_survive_a_round_trip),
        cmocka_unit_test(test_powers_of_two_survive_a_round_trip),
        cmocka_unit_test(test_max_and_min_let_nan_win_and_rounding_keeps_the_sign_of_zero),
    };
    return cmocka_run_group_tests_name("scalar_functors", tests, NULL, NULL);
}
