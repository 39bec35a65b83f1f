#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/conv_reference.h"

typedef enum PoolKind { POOL_MAX, POOL_AVERAGE, POOL_AVERAGE_PADDED } PoolKind;

/* One output: the window's maximum and where it is first, or its average. */
typedef struct Pooled {
    double value;
    int64_t index; /* in the plane */
} Pooled;

static Pooled pool_at(const ConvCase *pool, PoolKind kind, const float *x, const int64_t *at) {
    int64_t positions = 1, counted = 0;
    for (uint32_t i = 0; i < pool->rank; i++) positions *= pool->kernel[i];
    Pooled result = {kind == POOL_MAX ? -(double)INFINITY : 0, 0};
    for (int64_t p = 0; p < positions; p++) {
        int64_t rest = p, offset = 0, step = 1;
        bool inside = true, padded = true;
        for (uint32_t i = pool->rank; i-- > 0; rest /= pool->kernel[i]) {
            const int64_t y = at[i] * pool->stride[i] - pool->begin[i] +
                              rest % pool->kernel[i] * pool->dilation[i];
            inside = inside && y >= 0 && y < pool->input[i];
            padded = padded && y < pool->input[i] + pool->end[i];
            offset += y * step;
            step *= pool->input[i];
        }
        counted += kind == POOL_AVERAGE_PADDED ? padded : inside;
        if (!inside) continue;
        if (kind != POOL_MAX)
            result.value += (double)x[offset];
        else if ((double)x[offset] > result.value)
            result = (Pooled){(double)x[offset], offset};
    }
    if (kind != POOL_MAX) result.value /= (double)counted;
    return result;
}

/* ceil_more[i]: outputs that ceil_mode adds. */
static void check_pool(const ConvCase *pool, PoolKind kind, const char *first, int64_t more) {
    const Shape x_shape = conv_reference_input(pool);
    Shape y_shape = conv_reference_output(pool);
    for (uint32_t i = 0; i < pool->rank; i++) y_shape.dims[i + 2] += more;
    y_shape.dims[1] = x_shape.dims[1];
    char attributes[256];
    conv_reference_pool_attributes(pool, first, attributes, sizeof attributes);
    float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
    const KernelCall call = {.name = kind == POOL_MAX ? "MaxPool" : "AveragePool",
        .attributes = attributes,
        .input_count = 1,
        .output_count = kind == POOL_MAX ? 2 : 1,
        .inputs = {{DTYPE_FLOAT32, x_shape, x}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_true(shape_equal(&result.shapes[0], &y_shape));
    const int64_t pixels = shape_product(&y_shape, 2, y_shape.rank);
    const int64_t plane = shape_product(&x_shape, 2, x_shape.rank);
    for (int64_t i = 0; i < shape_count_unchecked(&y_shape); i++) {
        int64_t at[REFERENCE_RANK_MAX] = {0}, rest = i % pixels;
        for (uint32_t d = pool->rank; d-- > 0; rest /= y_shape.dims[d + 2])
            at[d] = rest % y_shape.dims[d + 2];
        const Pooled expected = pool_at(pool, kind, x + i / pixels * plane, at);
        if (kind == POOL_MAX) {
            assert_true(kernel_result_at(&result, 0, i) == expected.value);
            assert_int_equal(
                ((const int64_t *)result.data[1])[i], i / pixels * plane + expected.index);
        } else {
            assert_true(fabs(kernel_result_at(&result, 0, i) - expected.value) < 1e-6);
        }
    }
    kernel_result_deinit(&result);
    free(x);
}

static const ConvCase cases[] = {
    {2, 3, 1, 1, 2, {9, 40}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {1, 2, 1, 1, 2, {20, 19}, {2, 3}, {1, 1}, {1, 1}, {0, 1}, {1, 0}},
    {1, 2, 1, 1, 2, {12, 50}, {2, 2}, {3, 3}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 1, 1, 1, {60}, {5}, {2}, {1}, {2}, {2}},
    {1, 1, 1, 1, 3, {5, 6, 7}, {2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {0, 1, 1}, {1, 1, 0}},
    {1, 2, 1, 1, 2, {12, 13}, {3, 2}, {1, 2}, {2, 3}, {2, 1}, {0, 2}},
    {1, 1, 1, 1, 2, {4, 300}, {3, 5}, {1, 1}, {1, 1}, {1, 3}, {1, 2}}, /* rows of many outputs */
    {1, 1, 1, 1, 1, {4}, {7}, {1}, {1}, {3}, {3}},                     /* no window lies inside */
};

static void test_max_pool_finds_maxima_and_where_they_are(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_pool(&cases[i], POOL_MAX, "", 0);
}

static void test_average_pool_counts_padding_when_asked(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_pool(&cases[i], POOL_AVERAGE, "", 0);
        check_pool(&cases[i], POOL_AVERAGE_PADDED, "count_include_pad=1, ", 0);
    }
}

/* 8 wide, windows of 3 by steps of 2: the last window of ceil_mode hangs over the end. */
static void test_pools_take_partial_windows_with_ceil_mode(void **state) {
    (void)state;
    static const ConvCase over = {1, 2, 1, 1, 2, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
    check_pool(&over, POOL_MAX, "ceil_mode=1, ", 1);
    check_pool(&over, POOL_AVERAGE, "ceil_mode=1, ", 1);
    check_pool(&over, POOL_AVERAGE_PADDED, "ceil_mode=1, count_include_pad=1, ", 1);
}

static void test_max_pool_of_bytes_doubles_and_nan(void **state) {
    (void)state;
    const int8_t bytes[6] = {-128, -3, -128, -128, 5, 4};
    const double doubles[6] = {1, NAN, 2, 3, -1, -2};
    const KernelCall calls[] = {
        {.name = "MaxPool",
            .attributes = "{kernel_shape=[2], strides=[2]}",
            .input_count = 1,
            .output_count = 1,
            .inputs = {{DTYPE_INT8, {3, {1, 1, 6}}, bytes}}},
        {.name = "MaxPool",
            .attributes = "{kernel_shape=[2], strides=[2]}",
            .input_count = 1,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT64, {3, {1, 1, 6}}, doubles}}},
    };
    const double expected[2][3] = {{-3, -128, 5}, {NAN, 3, -1}};
    for (int i = 0; i < 2; i++) {
        KernelResult result;
        kernel_call_check_bits(kernel_cpu_device(), &calls[i], &result);
        kernel_check_close(&result, 0, expected[i], 0);
        kernel_result_deinit(&result);
    }
}

int test_cpu_pool(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_max_pool_finds_maxima_and_where_they_are),
        cmocka_unit_test(test_average_pool_counts_padding_when_asked),
        cmocka_unit_test(test_pools_take_partial_windows_with_ceil_mode),
        cmocka_unit_test(test_max_pool_of_bytes_doubles_and_nan),
    };
    return cmocka_run_group_tests_name("cpu_pool", tests, NULL, NULL);
}
