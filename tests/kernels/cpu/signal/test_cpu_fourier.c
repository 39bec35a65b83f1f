#include "kernels/cpu/signal/cpu_fourier.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/test_random.h"
#include "tests/support/test_support.h"

static const long double PI = 0x1.921fb54442d18469898cc51701b8p+1L;

/* The largest error of a transform of that length against the sum in long double, relative to the
 * largest result. */
static double error_of(int64_t length, bool inverse) {
    uint64_t seed = (uint64_t)length;
    void *memory = malloc(cpu_fourier_size(length));
    CpuComplex *values = malloc((size_t)length * sizeof *values);
    CpuComplex *before = malloc((size_t)length * sizeof *values);
    CpuComplex *scratch = malloc((size_t)cpu_fourier_scratch(length) * sizeof *scratch);
    const CpuFourier *fourier = cpu_fourier_make(length, memory);
    long double most = 0, error = 0;
    for (int64_t i = 0; i < length; i++) {
        values[i].re = (double)(int64_t)(test_random(&seed) % 2001) / 1000 - 1;
        values[i].im = (double)(int64_t)(test_random(&seed) % 2001) / 1000 - 1;
        before[i] = values[i];
    }
    cpu_fourier_run(fourier, inverse, values, scratch);
    for (int64_t k = 0; k < length; k++) {
        long double re = 0, im = 0;
        for (int64_t n = 0; n < length; n++) {
            const long double angle =
                (inverse ? 2 : -2) * PI * (long double)(n * k % length) / (long double)length;
            const long double c = cosl(angle), s = sinl(angle);
            re += (long double)before[n].re * c - (long double)before[n].im * s;
            im += (long double)before[n].re * s + (long double)before[n].im * c;
        }
        most = fmaxl(most, hypotl(re, im));
        error =
            fmaxl(error, hypotl(re - (long double)values[k].re, im - (long double)values[k].im));
    }
    free(memory);
    free(values);
    free(before);
    free(scratch);
    return (double)(error / (most > 0 ? most : 1));
}

static void test_transforms_of_any_length_are_right(void **state) {
    static const int64_t lengths[] = {120, 121, 128, 169, 210, 256, 289, 343, 360, 37, 41, 74, 97,
        101, 127, 255, 509, 1000, 1009};
    (void)state;
    for (int64_t length = 1; length <= 70; length++) {
        assert_true(error_of(length, false) < 1e-14);
        assert_true(error_of(length, true) < 1e-14);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        assert_true(error_of(lengths[i], i % 2) < 1e-14);
}

/* A single one of the input gives a root of unity everywhere, without any rounding on the way. */
static void test_whole_turns_are_exact(void **state) {
    (void)state;
    CpuComplex values[8] = {{0, 0}, {0, 0}, {1, 0}}, scratch[8];
    void *memory = malloc(cpu_fourier_size(8));
    cpu_fourier_run(cpu_fourier_make(8, memory), false, values, scratch);
    static const CpuComplex expected[4] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    for (int i = 0; i < 8; i++) {
        assert_true(values[i].re == expected[i % 4].re);
        assert_true(values[i].im == expected[i % 4].im);
    }
    free(memory);
}

int test_cpu_fourier(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transforms_of_any_length_are_right),
        cmocka_unit_test(test_whole_turns_are_exact),
    };
    return cmocka_run_group_tests_name("cpu_fourier", tests, NULL, NULL);
}
