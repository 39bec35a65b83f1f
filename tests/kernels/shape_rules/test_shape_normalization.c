#include "tests/kernels/fixtures/infer_fixture.h"

static void test_group_normalization_divides_the_channels(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"GroupNormalization", "{num_groups=2}", "float16[2,4,3] float16[4] float16[4]",
            "float16[2, 4, 3]"},
        {"GroupNormalization", "{num_groups=3}", "float32[2,4,3] float32[4] float32[4]",
            "! 4 channels in 3 groups"},
        {"GroupNormalization", "{num_groups=0}", "float32[2,4,3] float32[4] float32[4]",
            "! 4 channels in 0 groups"},
        {"GroupNormalization", "{num_groups=2}", "float32[4] float32[4] float32[4]",
            "! an input of rank 1"},
        {"GroupNormalization", "{num_groups=2}", "float32[2,4] float32[2] float32[4]", "! input 1"},
        {"GroupNormalization", "{num_groups=2}", "float32[2,4] float32[4] float64[4]", "! input 2"},
        {"GroupNormalization", "{num_groups=2}", "int32[2,4] int32[4] int32[4]",
            "! input 0 is int32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_axes_and_norms_are_checked(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"MeanVarianceNormalization", NULL, "float32[2,3,4,5]", "float32[2, 3, 4, 5]"},
        {"MeanVarianceNormalization", NULL, "float32[2,3,4]", "! axis 3 of rank 3"},
        {"MeanVarianceNormalization", "{axes=[0, -2]}", "float32[2,3]", "! axis 0 twice"},
        {"MeanVarianceNormalization", "{axes=[0]}", "int8[2,3]", "! input 0 is int8"},
        {"LpNormalization", "{p=1}", "float64[2,3]", "float64[2, 3]"},
        {"LpNormalization", "{p=3}", "float32[2,3]", "! p 3"},
        {"LpNormalization", NULL, "float32[]", "! axis -1 of rank 0"},
        {"LpNormalization", NULL, "int8[2]", "! input 0 is int8"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_normalization(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_normalization_divides_the_channels),
        cmocka_unit_test(test_axes_and_norms_are_checked),
    };
    return cmocka_run_group_tests_name("shape_normalization", tests, NULL, NULL);
}
