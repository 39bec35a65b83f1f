#include "kernels/cpu/pool/cpu_pool_window.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

enum { WIDTH = 37, SIZE = 4 * (WIDTH + 32) };

/* A row of 1 × 3 windows, one after the other: what the vectors must come to, bit for bit. */
static void expect(const float *x, int64_t stride, bool is_average, float *y) {
    for (int64_t i = 0; i < WIDTH; i++) {
        float result = is_average ? 0 : -INFINITY;
        for (int64_t k = 0; k < 3; k++) {
            const float b = x[i * stride + k];
            if (is_average)
                result += b;
            else
                result = b > result || b != b ? b : result;
        }
        y[i] = result;
    }
}

static void compare(const float *x, CpuPoolCombine combine) {
    float y[WIDTH + CPU_VECTOR_LANES], expected[WIDTH];
    for (int64_t stride = 1; stride <= 3; stride++) {
        const CpuPlane plane = {
            .width = WIDTH, .stride = stride, .tap_count = 3, .taps = {0, 1, 2}};
        expect(x, stride, combine == CPU_POOL_SUM, expected);
        for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++) {
            cpu_pool_window_for((CpuLevel)level, combine, stride)(&plane, x, y);
            assert_memory_equal(y, expected, sizeof expected);
        }
    }
}

static void test_pool_windows_agree_with_one_by_one(void **state) {
    (void)state;
    float *x = kernel_random_floats(1, SIZE);
    x[40] = INFINITY, x[41] = -INFINITY, x[20] = -0.0f, x[21] = 0.0f;
    compare(x, CPU_POOL_MAX_OF_NUMBERS);
    x[5] = NAN;
    compare(x, CPU_POOL_MAX);
    compare(x, CPU_POOL_SUM);
    free(x);
}

static void test_a_nan_is_found_wherever_it_is(void **state) {
    enum { COUNT = 21 };
    float x[COUNT] = {0, -INFINITY, INFINITY};
    (void)state;
    for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++)
        for (int64_t at = 0; at <= COUNT; at++) {
            bool numbers = at < COUNT;
            const float kept = at < COUNT ? x[at] : 0;
            if (at < COUNT) x[at] = NAN;
            cpu_pool_numbers_for((CpuLevel)level)(x, COUNT, &numbers);
            if (at < COUNT) x[at] = kept;
            assert_int_equal(numbers, at == COUNT);
        }
}

int test_cpu_pool_window(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_windows_agree_with_one_by_one),
        cmocka_unit_test(test_a_nan_is_found_wherever_it_is),
    };
    return cmocka_run_group_tests_name("cpu_pool_window", tests, NULL, NULL);
}
