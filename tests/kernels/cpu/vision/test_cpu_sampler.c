#include "kernels/cpu/vision/cpu_sampler.h"

#include <math.h>

#include "tests/support/test_support.h"

static const double nothing = (double)NAN, endless = (double)INFINITY;

static void test_taps_are_a_product_over_the_dimensions(void **state) {
    (void)state;
    CpuSampler sampler = {.rank = 2, .dims = {3, 4}};
    int64_t offsets[CPU_SAMPLER_TAPS_MAX];
    double weights[CPU_SAMPLER_TAPS_MAX];
    assert_int_equal(cpu_sampler_tap_count(&sampler), 4);
    assert_int_equal(cpu_sampler_block(&sampler), CPU_SAMPLER_POINTS_MAX);
    cpu_sampler_taps(&sampler, (double[]){1.25, 2.5}, offsets, weights);
    static const int64_t expected[4] = {6, 7, 10, 11};
    static const double parts[4] = {0.375, 0.375, 0.125, 0.125};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(offsets[i], expected[i]);
        assert_true(weights[i] == parts[i]);
    }
    sampler.mode = CPU_SAMPLER_CUBIC;
    sampler.rank = WINDOW_RANK_MAX;
    assert_int_equal(cpu_sampler_tap_count(&sampler), CPU_SAMPLER_TAPS_MAX);
    assert_int_equal(cpu_sampler_block(&sampler), 1);
}

/* The element that is nearest to x in a row of 4. */
static int64_t nearest(CpuSamplerPadding padding, bool corners, double x) {
    const CpuSampler sampler = {.rank = 1,
        .dims = {4},
        .mode = CPU_SAMPLER_NEAREST,
        .padding = padding,
        .corners = corners};
    int64_t offset;
    double weight;
    cpu_sampler_taps(&sampler, &x, &offset, &weight);
    assert_true(weight == 1);
    return offset;
}

static void test_padding_brings_every_coordinate_inside(void **state) {
    (void)state;
    assert_int_equal(nearest(CPU_SAMPLER_ZEROS, false, 2.5), 2); /* half to even */
    assert_int_equal(nearest(CPU_SAMPLER_ZEROS, false, -0.7), -1);
    assert_int_equal(nearest(CPU_SAMPLER_ZEROS, false, 4), -1);
    assert_int_equal(nearest(CPU_SAMPLER_BORDER, false, -9), 0);
    assert_int_equal(nearest(CPU_SAMPLER_BORDER, true, 9), 3);
    assert_int_equal(nearest(CPU_SAMPLER_REFLECTION, false, -1), 0);
    assert_int_equal(nearest(CPU_SAMPLER_REFLECTION, true, -1), 1);
    assert_int_equal(nearest(CPU_SAMPLER_REFLECTION, false, 4), 3);
    assert_int_equal(nearest(CPU_SAMPLER_REFLECTION, true, 4), 2);
    assert_int_equal(nearest(CPU_SAMPLER_REFLECTION, true, 7), 1);
}

static void test_no_coordinate_is_too_strange(void **state) {
    static const double strange[] = {1e18, -1e18, 1e300, -1e300};
    (void)state;
    for (int corners = 0; corners < 2; corners++) {
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(nearest(CPU_SAMPLER_ZEROS, corners, strange[i]), -1);
            int64_t at = nearest(CPU_SAMPLER_REFLECTION, corners, strange[i]);
            assert_true(at >= 0 && at < 4);
        }
        assert_int_equal(nearest(CPU_SAMPLER_ZEROS, corners, nothing), -1);
        assert_int_equal(nearest(CPU_SAMPLER_ZEROS, corners, endless), -1);
        assert_int_equal(nearest(CPU_SAMPLER_BORDER, corners, nothing), 0);
        assert_int_equal(nearest(CPU_SAMPLER_BORDER, corners, endless), 3);
        assert_int_equal(nearest(CPU_SAMPLER_REFLECTION, corners, nothing), 0);
    }
    /* one element reflects into itself */
    const CpuSampler one = {.rank = 1,
        .dims = {1},
        .mode = CPU_SAMPLER_NEAREST,
        .padding = CPU_SAMPLER_REFLECTION,
        .corners = true};
    int64_t offset;
    double weight;
    cpu_sampler_taps(&one, (double[]){5}, &offset, &weight);
    assert_int_equal(offset, 0);
}

int test_cpu_sampler(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taps_are_a_product_over_the_dimensions),
        cmocka_unit_test(test_padding_brings_every_coordinate_inside),
        cmocka_unit_test(test_no_coordinate_is_too_strange),
    };
    return cmocka_run_group_tests_name("cpu_sampler", tests, NULL, NULL);
}
