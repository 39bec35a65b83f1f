#include "kernels/cpu/quantized/cpu_lower_rows.h"

#include <math.h>
#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/kernels/fixtures/loop_fixture.h"
#include "tests/support/test_random.h"

enum { MOST = 70 };

static float noise(uint64_t *seed) {
    return (float)((double)(test_random(seed) % 2000001) / 1e6 - 1);
}

static void test_rows_are_rounded_to_bfloat16_with_ties_to_even(void **state) {
    (void)state;
    static const float special[] = {0x1.01p0F, 0x1.03p0F, -0x1.01p0F, 0x1.010002p0F, 3.4e38F, NAN,
        INFINITY, -INFINITY, 0x1p-149F, -0.0F};
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    for (uint32_t l = 0; l < level_count; l++)
        for (int64_t depth = 1; depth < MOST; depth++) {
            float from[MOST], to[MOST + 2];
            uint64_t seed = (uint64_t)depth;
            for (int64_t i = 0; i < depth; i++)
                from[i] = i < 10 ? special[(i + depth) % 10] : noise(&seed);
            to[depth + depth % 2] = 99;
            cpu_lower_rows_for(levels[l], CPU_LOWER_BFLOAT16).round(from, depth, to);
            for (int64_t i = 0; i < depth; i++) {
                const double wanted =
                    dtype_scalar_from_bfloat16(dtype_scalar_bfloat16((double)from[i]));
                assert_true((double)to[i] == wanted || (isnan(to[i]) && isnan(wanted)));
            }
            if (depth % 2) assert_true(to[depth] == 0);
            assert_true(to[depth + depth % 2] == 99);
        }
}

/* Those of the forms for AVX512_BF16 and AVX512_VNNI need AVX-512 alone. */
static bool has_avx512(void) {
    CpuLevel levels[3];
    return levels[loop_fixture_levels(levels) - 1] == CPU_LEVEL_AVX512;
}

static void test_rows_of_bfloat16_are_the_rounded_ones(void **state) {
    (void)state;
    if (!has_avx512()) skip();
    for (int64_t depth = 1; depth < MOST; depth++) {
        float from[MOST], rounded[MOST + 2];
        uint16_t to[MOST + 2];
        uint64_t seed = (uint64_t)depth;
        for (int64_t i = 0; i < depth; i++) from[i] = i == depth / 2 ? NAN : noise(&seed);
        to[depth + depth % 2] = 99;
        cpu_lower_rows_for(CPU_LEVEL_AVX512, CPU_LOWER_BFLOAT16).round(from, depth, rounded);
        cpu_lower_rows_for(CPU_LEVEL_AVX512, CPU_LOWER_BFLOAT16_DOT).round(from, depth, to);
        for (int64_t i = 0; i < depth + depth % 2; i++) {
            uint32_t bits;
            memcpy(&bits, &rounded[i], sizeof bits);
            assert_int_equal(to[i], bits >> 16);
        }
        assert_int_equal(to[depth + depth % 2], 99);
    }
}

/* What operators.def says, step by step. */
static float quantize(const float *from, int64_t depth, int16_t *to) {
    float low = 0, high = 0;
    for (int64_t i = 0; i < depth; i++)
        if (isfinite(from[i])) low = fminf(low, from[i]), high = fmaxf(high, from[i]);
    const float range = (float)fmax(((double)high - (double)low) / 2, 0x1p-101);
    const float inverse = 127.5F / range;
    const int zero = (int)rintf(-low * inverse);
    for (int64_t i = 0; i < depth; i++) {
        to[i] = 0;
        if (!isfinite(from[i])) continue;
        const int byte = (int)rintf(from[i] * inverse) + zero;
        to[i] = (int16_t)((byte < 0 ? 0 : byte > 255 ? 255 : byte) - zero);
    }
    if (depth % 2) to[depth] = 0;
    return range / 127.5F;
}

static float make_bytes(
    CpuLevel level, CpuLowerForm form, const float *from, int64_t depth, void *to, int32_t *zero) {
    const CpuLowerRows row = cpu_lower_rows_for(level, form);
    CpuLowerRange range = CPU_LOWER_NOTHING;
    row.measure(from, depth / 2, &range);
    row.measure(from + depth / 2, depth - depth / 2, &range);
    const CpuLowerScale scale = cpu_lower_scale_of(&range);
    row.quantize(from, depth, &scale, to);
    *zero = cpu_lower_zero(form, &scale);
    return scale.step;
}

static void test_rows_become_bytes_with_the_same_bits_at_every_level(void **state) {
    (void)state;
    static const float scales[] = {1, 1e-20F, 1e-38F, 1e30F}, shifts[] = {0, 0.9F, -1, 5, -5};
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    for (uint32_t l = 0; l < level_count; l++)
        for (int64_t depth = 1; depth < MOST; depth++) {
            float from[MOST];
            int16_t to[MOST + 2], wanted[MOST + 2];
            int32_t zero;
            uint64_t seed = (uint64_t)depth;
            for (int64_t i = 0; i < depth; i++)
                from[i] = (noise(&seed) + shifts[depth % 5]) * scales[depth % 4];
            to[depth + depth % 2] = 99;
            const float step = make_bytes(levels[l], CPU_LOWER_INT8, from, depth, to, &zero);
            assert_int_equal(zero, 0);
            assert_true(step == quantize(from, depth, wanted));
            assert_memory_equal(to, wanted, (size_t)(depth + depth % 2) * sizeof *to);
            assert_int_equal(to[depth + depth % 2], 99);
        }
}

static void test_bytes_without_a_sign_are_by_their_zero_larger(void **state) {
    (void)state;
    static const float shifts[] = {0, 0.9F, -1, 5, -5};
    if (!has_avx512()) skip();
    for (int64_t depth = 1; depth < MOST; depth++) {
        float from[MOST];
        int16_t wanted[MOST + 2];
        uint8_t to[MOST + 5];
        int32_t zero;
        uint64_t seed = (uint64_t)depth;
        const int64_t length = (depth + 3) / 4 * 4;
        for (int64_t i = 0; i < depth; i++) from[i] = noise(&seed) + shifts[depth % 5];
        to[length] = 99;
        float step = make_bytes(CPU_LEVEL_AVX512, CPU_LOWER_INT8_DOT, from, depth, to, &zero);
        assert_true(step == quantize(from, depth, wanted));
        for (int64_t i = 0; i < length; i++)
            assert_int_equal(to[i], i < depth ? wanted[i] + zero : 0);
        assert_int_equal(to[length], 99);
        from[depth / 2] = depth % 2 ? INFINITY : NAN;
        step = make_bytes(CPU_LEVEL_AVX512, CPU_LOWER_INT8_DOT, from, depth, to, &zero);
        assert_true(step == quantize(from, depth, wanted));
        for (int64_t i = 0; i < length; i++)
            assert_int_equal(to[i], i < depth ? wanted[i] + zero : 0);
        assert_int_equal(to[length], 99);
    }
}

static void test_what_is_not_finite_is_left_out_and_no_range_too_large(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 3e38F};
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    for (uint32_t l = 0; l < level_count; l++) {
        float from[MOST] = {0}, step;
        int16_t to[MOST], wanted[MOST];
        int32_t zero;
        for (int i = 0; i < 4; i++)
            for (int at = 0; at < MOST; at += 23) {
                uint64_t seed = (uint64_t)at;
                for (int k = 0; k < MOST; k++) from[k] = noise(&seed);
                from[at] = bad[i];
                step = make_bytes(levels[l], CPU_LOWER_INT8, from, MOST, to, &zero);
                assert_true(step == quantize(from, MOST, wanted));
                assert_memory_equal(to, wanted, sizeof to);
            }
        memset(from, 0, sizeof from);
        from[3] = 3e38F, from[40] = -3e38F;
        step = make_bytes(levels[l], CPU_LOWER_INT8, from, MOST, to, &zero);
        assert_true(step == 3e38F / 127.5F && to[3] == 127 && to[40] == -128 && to[41] == 0);
        memset(from, 0, sizeof from);
        step = make_bytes(levels[l], CPU_LOWER_INT8, from, MOST, to, &zero);
        assert_true(step > 0 && to[0] == 0);
    }
}

static void test_sums_are_scaled_by_row_and_column(void **state) {
    (void)state;
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    for (uint32_t l = 0; l < level_count; l++)
        for (int64_t count = 1; count < MOST; count++) {
            int32_t sums[MOST];
            float scales[MOST], to[MOST + 1];
            uint64_t seed = (uint64_t)count;
            for (int64_t i = 0; i < count; i++) {
                sums[i] = (int32_t)(test_random(&seed) % 4000000000u - 2000000000u);
                scales[i] = noise(&seed);
            }
            to[count] = 99;
            cpu_lower_rows_for(levels[l], CPU_LOWER_INT8).scale(sums, 0.3F, scales, count, to);
            for (int64_t i = 0; i < count; i++)
                assert_true(to[i] == (float)sums[i] * (0.3F * scales[i]));
            assert_true(to[count] == 99);
        }
}

int test_cpu_lower_rows(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_rounded_to_bfloat16_with_ties_to_even),
        cmocka_unit_test(test_rows_of_bfloat16_are_the_rounded_ones),
        cmocka_unit_test(test_bytes_without_a_sign_are_by_their_zero_larger),
        cmocka_unit_test(test_rows_become_bytes_with_the_same_bits_at_every_level),
        cmocka_unit_test(test_what_is_not_finite_is_left_out_and_no_range_too_large),
        cmocka_unit_test(test_sums_are_scaled_by_row_and_column),
    };
    return cmocka_run_group_tests_name("cpu_lower_rows", tests, NULL, NULL);
}
