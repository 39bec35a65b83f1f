#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

/* The kernels of float64 are compared with those of float32 on the same numbers. */
static void check_like_float32(const char *name, const char *attributes, uint32_t input_count,
    const Shape *shapes, uint32_t outputs) {
    KernelCall narrow = {.name = name,
        .attributes = attributes,
        .input_count = input_count,
        .output_count = outputs};
    KernelCall wide = narrow;
    for (uint32_t i = 0; i < input_count; i++) {
        const int64_t count = shape_count_unchecked(&shapes[i]);
        float *values = kernel_random_floats(i + 1, count);
        double *doubles = malloc((size_t)count * sizeof(double) + 8);
        assert_non_null(doubles);
        for (int64_t j = 0; j < count; j++) {
            if (i == 4) values[j] = fabsf(values[j]) + 0.5f; /* a variance */
            doubles[j] = (double)values[j];
        }
        narrow.inputs[i] = (KernelInput){DTYPE_FLOAT32, shapes[i], values};
        wide.inputs[i] = (KernelInput){DTYPE_FLOAT64, shapes[i], doubles};
    }
    KernelResult expected, result;
    kernel_call_check_bits(kernel_cpu_device(), &wide, &result);
    assert_ok(kernel_call_run(kernel_cpu_device(), &narrow, KERNEL_MODE_PLAIN, &expected));
    for (uint32_t o = 0; o < outputs; o++) {
        const int64_t count = shape_count_unchecked(&expected.shapes[o]);
        double *values = malloc((size_t)count * sizeof(double) + 8);
        assert_non_null(values);
        for (int64_t i = 0; i < count; i++) values[i] = kernel_result_at(&expected, o, i);
        kernel_check_close(&result, o, values, 1e-5);
        free(values);
    }
    kernel_result_deinit(&expected);
    kernel_result_deinit(&result);
    for (uint32_t i = 0; i < input_count; i++)
        free((void *)(uintptr_t)narrow.inputs[i].data),
            free((void *)(uintptr_t)wide.inputs[i].data);
}

static void test_normalizations_of_doubles_agree_with_those_of_floats(void **state) {
    (void)state;
    const Shape x = {3, {2, 3, 35}}, channels = {1, {3}}, row = {1, {35}}, empty = {2, {3, 0}};
    const Shape batch[5] = {x, channels, channels, channels, channels};
    check_like_float32("Softmax", "{axis=1}", 1, &x, 1);
    check_like_float32("LogSoftmax", NULL, 1, &x, 1);
    check_like_float32("Softmax", NULL, 1, &empty, 1);
    check_like_float32("LayerNormalization", NULL, 3, (Shape[3]){x, row, row}, 3);
    check_like_float32("LayerNormalization", "{stash_type=11}", 2, (Shape[2]){x, row}, 3);
    check_like_float32("RMSNormalization", NULL, 2, (Shape[2]){x, row}, 1);
    check_like_float32("InstanceNormalization", NULL, 3, batch, 1);
    check_like_float32("BatchNormalization", NULL, 5, batch, 1);
    check_like_float32("GroupNormalization", "{num_groups=1}", 3, batch, 1);
    check_like_float32("GroupNormalization", "{num_groups=3}", 3, batch, 1);
    check_like_float32("LRN", "{size=2, alpha=0.5}", 1, &x, 1);
}

static void test_normalizations_refuse_mixed_precision(void **state) {
    (void)state;
    const double x[4] = {1, 2, 3, 4};
    const float scale[4] = {1, 1, 1, 1};
    const KernelCall call = {.name = "RMSNormalization",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT64, {1, {4}}, x}, {DTYPE_FLOAT32, {1, {4}}, scale}}};
    KernelResult result;
    assert_fails(
        UNSUPPORTED, kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
}

int test_cpu_normalization_wide(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalizations_of_doubles_agree_with_those_of_floats),
        cmocka_unit_test(test_normalizations_refuse_mixed_precision),
    };
    return cmocka_run_group_tests_name("cpu_normalization_wide", tests, NULL, NULL);
}
