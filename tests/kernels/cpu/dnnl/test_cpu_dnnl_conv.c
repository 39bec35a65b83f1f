#include <stdio.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

#include "kernels/registry/device_registry.h"
#include "tests/kernels/fixtures/kernel_call.h"

typedef struct ConvShapes {
    int64_t x[4], w[4];
    const char *attributes;
} ConvShapes;

/* Large enough for oneDNN, and to be cut into bands: odd rows, strides, padding, dilation, groups,
 * several images. */
static const ConvShapes cases[] = {
    {{1, 64, 57, 56}, {64, 64, 3, 3}, "{pads=[1, 1, 1, 1]}"},
    {{1, 32, 61, 45}, {96, 32, 3, 3}, "{pads=[1, 1, 1, 1], strides=[2, 2]}"},
    {{3, 48, 23, 21}, {64, 48, 3, 3}, "{pads=[0, 1, 2, 1], dilations=[2, 1]}"},
    {{1, 512, 28, 28}, {1024, 512, 1, 1}, "{strides=[2, 2]}"},
    {{2, 64, 20, 20}, {128, 32, 3, 3}, "{group=2, pads=[1, 1, 1, 1]}"},
    {{1, 3, 112, 112}, {64, 3, 7, 7}, "{pads=[3, 3, 3, 3], strides=[2, 2]}"},
    {{1, 2048, 7, 7}, {512, 2048, 1, 1}, NULL},
};

static Tensor *run_conv(
    const ConvShapes *shapes, uint32_t threads, bool pack, bool residual, const char **kernel) {
    const Shape x = shape_make(4, shapes->x), w = shape_make(4, shapes->w);
    const Shape b = shape_make(1, shapes->w);
    char attributes[256];
    DeviceCall call = {.device = kernel_cpu_device(),
        .operator_name = "FusedConv",
        .attributes = attributes,
        .input_count = 3,
        .threads = threads,
        .pack = pack};
    (void)snprintf(attributes, sizeof attributes, "{activation=\"relu\"%s%s",
        shapes->attributes ? ", " : "}", shapes->attributes ? shapes->attributes + 1 : "");
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &x, -1, 1, 1);
    call.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &w, -0.1, 0.1, 2);
    call.inputs[2] = device_tensor_random(DTYPE_FLOAT32, &b, -1, 1, 3);
    Tensor *output, *again;
    assert_ok(device_call_run(&call, &output, kernel));
    if (residual) {
        call.inputs[3] = device_tensor_random(DTYPE_FLOAT32, &output->shape, -1, 1, 4);
        call.input_count = 4;
        assert_ok(device_call_run(&call, &again, kernel));
        tensor_release(output);
        output = again;
    }
    for (uint32_t i = 0; i < call.input_count; i++) tensor_release(call.inputs[i]);
    return output;
}

/* The same bits however many threads there are. */
static void test_dnnl_conv_bits_do_not_depend_on_threads(void **state) {
    (void)state;
    static const uint32_t counts[] = {2, 3, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int residual = 0; residual < 2; residual++) {
            const char *kernel;
            Tensor *one = run_conv(&cases[i], 1, true, residual, &kernel);
            for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
                Tensor *several = run_conv(&cases[i], counts[k], true, residual, &kernel);
                assert_true(device_tensor_hash(one) == device_tensor_hash(several));
                tensor_release(several);
            }
            tensor_release(one);
        }
}

static uint64_t workspace_of(const char *device_spec, const ConvShapes *shapes) {
    const Shape x = shape_make(4, shapes->x), w = shape_make(4, shapes->w);
    OWN(Device, device) = NULL;
    OWN(Plan, plan) = NULL;
    assert_ok(device_open(device_spec, &device));
    DeviceCall call = {.device = device,
        .operator_name = "Conv",
        .attributes = shapes->attributes,
        .input_count = 2,
        .pack = true};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &x, -1, 1, 1);
    call.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &w, -1, 1, 2);
    assert_ok(device_call_plan(&call, &plan));
    const uint64_t bytes = plan->workspace_bytes;
    plan_release(TAKE(plan)); /* before its device */
    for (uint32_t i = 0; i < call.input_count; i++) tensor_release(call.inputs[i]);
    return bytes;
}

/* Each thread that works on a band has scratch of its own: an image that oneDNN takes only as a
 * whole needs as much for 8 threads as for one. */
static void test_dnnl_conv_cuts_ordinary_images_into_bands(void **state) {
    (void)state;
    static const ConvShapes ordinary[] = {
        {{1, 64, 56, 56}, {64, 64, 3, 3}, "{pads=[1, 1, 1, 1]}"},
        {{1, 256, 14, 14}, {256, 256, 3, 3}, "{pads=[1, 1, 1, 1]}"},
        {{1, 512, 7, 7}, {512, 512, 3, 3}, "{pads=[1, 1, 1, 1]}"},
    };
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX512) skip(); /* forms in blocks */
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        assert_true(workspace_of("cpu:threads=8", &ordinary[i]) >
                    workspace_of("cpu:threads=1", &ordinary[i]));
}

static double close_to(const Tensor *a, const Tensor *b) {
    double worst = 0;
    for (int64_t i = 0; i < shape_count_unchecked(&a->shape); i++) {
        double x = device_tensor_get(a, i), y = device_tensor_get(b, i);
        double difference = x > y ? x - y : y - x;
        if (difference > worst) worst = difference;
    }
    return worst;
}

/* Packed or plain weights: the same numbers but for rounding. */
static void test_dnnl_conv_packed_weights_agree_with_plain_ones(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kernel;
        Tensor *packed = run_conv(&cases[i], 1, true, true, &kernel);
        Tensor *plain = run_conv(&cases[i], 1, false, true, &kernel);
        assert_true(close_to(packed, plain) < 1e-4);
        tensor_release(packed);
        tensor_release(plain);
    }
}

int test_cpu_dnnl_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dnnl_conv_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_dnnl_conv_cuts_ordinary_images_into_bands),
        cmocka_unit_test(test_dnnl_conv_packed_weights_agree_with_plain_ones),
    };
    return cmocka_run_group_tests_name("cpu_dnnl_conv", tests, NULL, NULL);
}
