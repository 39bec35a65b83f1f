#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void check_lrn(const char *name, Shape shape, int64_t size, const char *attributes,
    double alpha, double beta, double bias) {
    const bool last = strcmp(name, "FusedLRN") == 0;
    const int64_t count = shape_count_unchecked(&shape);
    const int64_t channels = shape.dims[last ? shape.rank - 1 : 1];
    const int64_t pixels = last ? 1 : shape_product(&shape, 2, shape.rank);
    float *x = kernel_random_floats(1, count);
    const KernelCall call = {.name = name,
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, shape, x}}};
    double *expected = malloc((size_t)count * sizeof(double));
    assert_non_null(expected);
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / pixels % channels;
        double sum = 0;
        for (int64_t j = c - (size - 1) / 2; j <= c + size / 2; j++) {
            if (j < 0 || j >= channels) continue;
            const double value = (double)x[i + (j - c) * pixels];
            sum += value * value;
        }
        expected[i] = (double)x[i] / pow(bias + alpha / (double)size * sum, beta);
    }
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    kernel_result_deinit(&result);
    free(expected);
    free(x);
}

static void test_lrn_divides_by_its_neighbours(void **state) {
    (void)state;
    check_lrn("LRN", (Shape){4, {2, 7, 5, 6}}, 5, "{size=5}", 0.0001, 0.75, 1);
    check_lrn("LRN", (Shape){4, {1, 9, 30, 41}}, 4, "{alpha=0.5, beta=0.5, bias=2.0, size=4}", 0.5,
        0.5, 2);
    check_lrn("LRN", (Shape){3, {1, 3, 11}}, 1, "{alpha=1.0, beta=1.5, size=1}", 1, 1.5, 1);
}

static void test_lrn_with_channels_last_does_the_same(void **state) {
    (void)state;
    check_lrn("FusedLRN", (Shape){4, {2, 5, 6, 7}}, 5, "{size=5}", 0.0001, 0.75, 1);
    check_lrn("FusedLRN", (Shape){3, {1, 3, 1100}}, 4, "{alpha=0.5, beta=0.5, bias=2.0, size=4}",
        0.5, 0.5, 2);
    check_lrn("FusedLRN", (Shape){3, {1, 11, 3}}, 64, "{alpha=1.0, size=64}", 1, 0.75, 1);
}

/* More neighbours than its row has room for: the plain operator does it. */
static void test_lrn_over_very_many_channels_is_left_to_its_expansion(void **state) {
    (void)state;
    check_lrn("FusedLRN", (Shape){3, {1, 2, 100}}, 65, "{alpha=1.0, size=65}", 1, 0.75, 1);
}

int test_cpu_lrn(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lrn_divides_by_its_neighbours),
        cmocka_unit_test(test_lrn_with_channels_last_does_the_same),
        cmocka_unit_test(test_lrn_over_very_many_channels_is_left_to_its_expansion),
    };
    return cmocka_run_group_tests_name("cpu_lrn", tests, NULL, NULL);
}
