#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

typedef struct Rows {
    int64_t rows, size;
    bool centered;
    double epsilon;
} Rows;

/* scale and bias are read at scale_at(row, i). */
typedef int64_t ScaleAt(int64_t row, int64_t i);

static int64_t along_row(int64_t row, int64_t i) {
    (void)row;
    return i;
}
static int64_t single(int64_t row, int64_t i) {
    (void)row, (void)i;
    return 0;
}
/* x [2, 3, 4], axis 1, scale [2, 1, 4] */
static int64_t along_first(int64_t row, int64_t i) { return row * 4 + i % 4; }
/* three channels */
static int64_t along_channel(int64_t row, int64_t i) {
    (void)i;
    return row % 3;
}

static double *naive(const Rows *rows, const float *x, const float *scale, const float *bias,
    ScaleAt *at, double *out_mean, double *out_inverse) {
    double *y = malloc((size_t)(rows->rows * rows->size) * sizeof(double) + 8);
    assert_non_null(y);
    for (int64_t row = 0; row < rows->rows; row++) {
        const float *from = x + row * rows->size;
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < rows->size; i++) mean += (double)from[i] / (double)rows->size;
        if (!rows->centered) mean = 0;
        for (int64_t i = 0; i < rows->size; i++)
            variance += ((double)from[i] - mean) * ((double)from[i] - mean) / (double)rows->size;
        out_mean[row] = mean;
        out_inverse[row] = 1 / sqrt(variance + rows->epsilon);
        for (int64_t i = 0; i < rows->size; i++)
            y[row * rows->size + i] =
                ((double)from[i] - mean) * out_inverse[row] * (double)scale[at(row, i)] +
                (bias ? (double)bias[at(row, i)] : 0);
    }
    return y;
}

static void check_rows(const char *name, const char *attributes, Shape x_shape, Shape scale_shape,
    uint32_t axis, bool bias, ScaleAt *at, uint32_t outputs) {
    const Rows rows = {shape_product(&x_shape, 0, axis),
        shape_product(&x_shape, axis, x_shape.rank), name[0] != 'R', 1e-5};
    float *x = kernel_random_floats(1, shape_count_unchecked(&x_shape));
    float *scale = kernel_random_floats(2, shape_count_unchecked(&scale_shape));
    float *shift = kernel_random_floats(3, shape_count_unchecked(&scale_shape));
    const KernelCall call = {.name = name,
        .attributes = attributes,
        .input_count = bias ? 3 : 2,
        .output_count = outputs,
        .inputs = {{DTYPE_FLOAT32, x_shape, x}, {DTYPE_FLOAT32, scale_shape, scale},
            {DTYPE_FLOAT32, scale_shape, shift}}};
    double mean[256], inverse[256];
    assert_true(rows.rows <= 256);
    double *expected = naive(&rows, x, scale, bias ? shift : NULL, at, mean, inverse);
    KernelResult result, portable;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    if (outputs > 1) kernel_check_close(&result, 1, mean, 1e-5);
    if (outputs > 2) kernel_check_close(&result, 2, inverse, 1e-5);
    assert_ok(kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
    assert_memory_equal(portable.data[0], result.data[0], result.bytes[0]);
    kernel_result_deinit(&portable);
    kernel_result_deinit(&result);
    free(expected);
    free(x);
    free(scale);
    free(shift);
}

static void test_layer_normalization_brings_rows_to_mean_0_and_variance_1(void **state) {
    (void)state;
    check_rows(
        "LayerNormalization", NULL, (Shape){2, {5, 37}}, (Shape){1, {37}}, 1, true, along_row, 3);
    check_rows("LayerNormalization", NULL, (Shape){3, {4, 50, 384}}, (Shape){1, {384}}, 2, true,
        along_row, 1);
    check_rows("LayerNormalization", "{axis=1}", (Shape){3, {6, 5, 7}}, (Shape){2, {5, 7}}, 1,
        false, along_row, 2);
    check_rows("LayerNormalization", "{axis=-1}", (Shape){2, {3, 16}}, (Shape){1, {1}}, 1, true,
        single, 1);
    check_rows("LayerNormalization", "{axis=1}", (Shape){3, {2, 3, 4}}, (Shape){3, {2, 1, 4}}, 1,
        true, along_first, 1);
    check_rows("LayerNormalization", "{axis=0}", (Shape){2, {9, 3}}, (Shape){2, {9, 3}}, 0, true,
        along_row, 1);
    check_rows(
        "LayerNormalization", NULL, (Shape){2, {0, 8}}, (Shape){1, {8}}, 1, true, along_row, 3);
}

static void test_rms_normalization_keeps_the_mean(void **state) {
    (void)state;
    check_rows(
        "RMSNormalization", NULL, (Shape){2, {5, 37}}, (Shape){1, {37}}, 1, false, along_row, 1);
    check_rows("RMSNormalization", "{axis=1}", (Shape){3, {2, 3, 4}}, (Shape){3, {2, 1, 4}}, 1,
        false, along_first, 1);
}

static void test_instance_normalization_has_a_scale_per_channel(void **state) {
    (void)state;
    check_rows("InstanceNormalization", NULL, (Shape){3, {2, 3, 45}}, (Shape){1, {3}}, 2, true,
        along_channel, 1);
    check_rows("InstanceNormalization", NULL, (Shape){4, {1, 3, 5, 7}}, (Shape){1, {3}}, 2, true,
        along_channel, 1);
}

/* Elements that differ in their last bits only: the mean, rounded, is as far away as they are. */
static void check_nearly_equal(const char *name, const char *attributes, Shape shape, uint32_t axis,
    float mean, float deviation) {
    const Rows rows = {
        shape_product(&shape, 0, axis), shape_product(&shape, axis, shape.rank), true, 1e-5};
    float *x = kernel_random_floats(1, shape_count_unchecked(&shape)), ones[256], zeros[256] = {0};
    double means[256], inverse[256];
    const Shape each = {1, {name[0] == 'L' ? shape.dims[shape.rank - 1] : shape.dims[1]}};
    assert_true(rows.rows <= 256 && each.dims[0] <= 256);
    for (int64_t i = 0; i < each.dims[0]; i++) ones[i] = 1;
    for (int64_t i = 0; i < rows.rows * rows.size; i++) x[i] = mean + deviation * x[i];
    double *expected = naive(&rows, x, ones, NULL, single, means, inverse);
    const KernelCall call = {.name = name,
        .attributes = attributes,
        .input_count = 3,
        .output_count = 1,
        .inputs = {
            {DTYPE_FLOAT32, shape, x}, {DTYPE_FLOAT32, each, ones}, {DTYPE_FLOAT32, each, zeros}}};
    KernelResult result, portable;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    assert_ok(kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
    assert_memory_equal(portable.data[0], result.data[0], result.bytes[0]);
    kernel_result_deinit(&portable);
    kernel_result_deinit(&result);
    free(expected);
    free(x);
}

static void test_nearly_equal_elements_keep_their_differences(void **state) {
    (void)state;
    static const float cases[][2] = {{1, 1e-2f}, {100, 1e-2f}, {1000, 1e-3f}, {-1e6f, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const float mean = cases[i][0], deviation = cases[i][1];
        check_nearly_equal("LayerNormalization", NULL, (Shape){2, {5, 200}}, 1, mean, deviation);
        check_nearly_equal(
            "LayerNormalization", "{axis=1}", (Shape){2, {3, 2}}, 1, mean, deviation);
        check_nearly_equal(
            "InstanceNormalization", NULL, (Shape){4, {2, 3, 15, 17}}, 2, mean, deviation);
        check_nearly_equal(
            "GroupNormalization", "{num_groups=1}", (Shape){4, {2, 6, 11, 13}}, 1, mean, deviation);
    }
}

int test_cpu_normalization(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_normalization_brings_rows_to_mean_0_and_variance_1),
        cmocka_unit_test(test_rms_normalization_keeps_the_mean),
        cmocka_unit_test(test_instance_normalization_has_a_scale_per_channel),
        cmocka_unit_test(test_nearly_equal_elements_keep_their_differences),
    };
    return cmocka_run_group_tests_name("cpu_normalization", tests, NULL, NULL);
}
